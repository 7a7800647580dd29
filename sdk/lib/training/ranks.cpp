// Ranks: what all agree on, and what they give each other.
#include <algorithm>

#include <tenon/abi/facts.h>
#include <tenon/autograd.hpp>
#include <tenon/ops.hpp>
#include <tenon/runtime.hpp>
#include <tenon/training/ranks.hpp>

#include "lib/base/format.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

namespace {

uint64_t hash_of(const std::string& text) {
  uint64_t hash = TENON_FNV1A_64;
  for (const char c : text) hash = TENON_FNV1A_64_NEXT(hash, c);
  return hash;
}

// Once in each batch: the op is looked up the first time alone.
Tensor gathered(const Tensor& tensor) {
  static const Op all_gather("distributed.all_gather");
  return all_gather.call<Tensor>(tensor);
}

}  // namespace

Ranks::Ranks(const DistributedConfig& config)
    : bucket_bytes_(config.bucket_bytes),
      parts_(config.parts),
      shards_optimizer_(config.shard_optimizer) {
  const Json& section = config.section;
  if (!section.defined()) return;
  try {
    load_plugin(config.engine);
    Op("distributed.configure")
        .call<void>(arg("timeout") = config.timeout, arg("check") = config.check);
    rank_ = Op("distributed.rank").call<int64_t>();
    size_ = Op("distributed.size").call<int64_t>();
  } catch (const Error& error) {
    throw ConfigError(lib::format_text("{}: {}", section.place(), error.what()));
  }
  if (parts_ % size_ != 0) {
    throw ConfigError(lib::format_text(
        "{}: {} parts of a batch cannot be divided among {} ranks; a multiple of the "
        "ranks can",
        section["parts"].place(), parts_, size_));
  }
}

void Ranks::require_same(const std::string& what, const std::string& text) const {
  if (alone()) return;
  const NoGrad no_grad;
  const Tensor own = tensor({static_cast<int64_t>(hash_of(text))});
  const std::vector<int64_t> all = gathered(own).to_vector<int64_t>();
  std::string differing;
  for (size_t i = 1; i < all.size(); ++i) {
    if (all[i] != all[0]) differing += lib::format_text("{}{}", differing.empty() ? "" : ", ", i);
  }
  if (differing.empty()) return;
  throw DistributedError(lib::format_text(
      "the {} of rank {} differs from that of rank 0; all ranks run the same program "
      "with the same plugins, config and files",
      what, differing));
}

void Ranks::share(const std::vector<std::pair<std::string, Tensor>>& tensors) const {
  if (alone()) return;
  const NoGrad no_grad;
  const Op broadcast("distributed.broadcast_");
  for (const auto& [name, tensor] : tensors) broadcast.call<Tensor>(tensor.detach());
}

Tensor Ranks::gather(const Tensor& rows) const {
  if (alone()) return rows;
  const NoGrad no_grad;
  const std::vector<int64_t> counts = gathered(tensor({rows.size(0)})).to_vector<int64_t>();
  int64_t most = 0;
  for (const int64_t count : counts) most = std::max(most, count);
  std::vector<int64_t> shape = rows.sizes();
  shape[0] = most;
  // Every rank sends equally many.
  Tensor padded =
      empty_tensor(IntList(shape.data(), static_cast<int64_t>(shape.size())), rows.dtype());
  fill_elements(padded, 0);
  copy_elements(narrow(padded, 0, 0, rows.size(0)), rows);
  const Tensor all = gathered(padded);
  std::vector<Tensor> parts;
  for (size_t i = 0; i < counts.size(); ++i)
    parts.push_back(narrow(all, 0, static_cast<int64_t>(i) * most, counts[i]));
  return cat(parts);
}

Tensor Ranks::gather_equal(const Tensor& rows) const {
  if (alone()) return rows;
  const NoGrad no_grad;
  return gathered(rows);
}

std::vector<double> Ranks::gather(double value) const {
  if (alone()) return {value};
  return gathered(tensor({value}, f64)).to_vector<double>();
}

}  // namespace training

TENON_NAMESPACE_END
