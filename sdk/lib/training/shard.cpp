// Shards: ranges of elements, and how they are put together.
#include <algorithm>
#include <map>

#include <tenon/autograd.hpp>
#include <tenon/ops.hpp>
#include <tenon/training/shard.hpp>

TENON_NAMESPACE_BEGIN

namespace training {

int64_t shard_width(const Ranks& ranks, const Tensor& whole) {
  return (whole.numel() + ranks.size() - 1) / ranks.size();
}

Tensor shard_of(const Ranks& ranks, const Tensor& whole) {
  const NoGrad no_grad;
  const int64_t width = shard_width(ranks, whole), count = whole.numel();
  const int64_t begin = std::min(count, ranks.rank() * width);
  return narrow(whole.detach().reshape({-1}), 0, begin, std::min(count, begin + width) - begin);
}

void gather_shards(const Ranks& ranks, const std::vector<std::pair<Tensor, Tensor>>& shards) {
  const NoGrad no_grad;
  std::map<DType, int64_t> widths;
  for (const auto& [shard, whole] : shards) widths[whole.dtype()] += shard_width(ranks, whole);
  for (const auto& [dtype, width] : widths) {
    const Tensor own = empty_tensor({1, width}, dtype);
    fill_elements(own, 0);
    int64_t at = 0;
    for (const auto& [shard, whole] : shards) {
      if (whole.dtype() != dtype) continue;
      copy_elements(narrow(own.select(0, 0), 0, at, shard.numel()), shard);
      at += shard_width(ranks, whole);
    }
    const Tensor all = ranks.gather_equal(own);
    at = 0;
    for (const auto& [shard, whole] : shards) {
      if (whole.dtype() != dtype) continue;
      const int64_t part = shard_width(ranks, whole);
      const Tensor elements = narrow(all, 1, at, part).reshape({-1});
      copy_elements(whole.detach(), narrow(elements, 0, 0, whole.numel()).reshape(whole.shape()));
      at += part;
    }
  }
}

}  // namespace training

TENON_NAMESPACE_END
