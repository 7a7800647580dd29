// Shared code of the tests of prepared models: models from documents, calls by any number of results,
// comparison by bits.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <tenon/parallel.hpp>
#include <tenon/prepare/prepare.hpp>
#include <tenon/tenon.hpp>

namespace preparing {

using namespace tenon;

inline Module model_of(const std::string& document) {
  Module module = create_module(Json::parse(document));
  module.eval();
  return module;
}

inline bool same_bits(const Tensor& a, const Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined();
  if (a.dtype() != b.dtype() || a.sizes() != b.sizes()) return false;
  const Tensor one = contiguous_as(a, a.dtype()), other = contiguous_as(b, b.dtype());
  return one.numel() == 0 ||
         std::memcmp(one.view_record().data, other.view_record().data,
                     static_cast<size_t>(one.numel() * element_size(one.dtype()))) == 0;
}

// All results of a call; the text of its error where it throws one.
struct Outcome {
  std::vector<Tensor> tensors;
  std::string error;
};
template <class Call>
Outcome outcome(Call&& call) {
  try {
    return {call(), {}};
  } catch (const Error& error) {
    return {{}, error.what()};
  }
}
template <class Model>
std::vector<Tensor> call(const Model& model, size_t results, const std::vector<Tensor>& inputs) {
  const auto run = [&](auto... input) -> std::vector<Tensor> {
    switch (results) {
      case 1:
        return {model.template call<Tensor>(input...)};
      case 2: {
        auto [a, b] = model.template call<std::tuple<Tensor, Tensor>>(input...);
        return {a, b};
      }
      default: {
        auto [a, b, c] = model.template call<std::tuple<Tensor, Tensor, Tensor>>(input...);
        return {a, b, c};
      }
    }
  };
  return inputs.size() == 1   ? run(inputs[0])
         : inputs.size() == 2 ? run(inputs[0], inputs[1])
                              : run(inputs[0], inputs[1], inputs[2]);
}
inline size_t result_count(const Module& module) {
  int64_t count = 0;
  detail::check(service::modules().forward, module.handle(), static_cast<tenon_string*>(nullptr),
                &count);
  return static_cast<size_t>(count);
}

inline std::vector<Tensor> copies(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> list;
  for (const Tensor& tensor : tensors) list.push_back(tensor.clone());
  return list;
}

// The largest difference that the rewrites of the last run allow, relative to a result's largest element: each
// difference may grow in the layers behind it.
inline double allowed(const Prepared& prepared) {
  constexpr double growth = 16;
  double sum = 0;
  const std::vector<PreparedList> lists = prepared.lists();
  if (lists.empty()) return 0;
  for (const rewrites::Applied& one : lists.front().rewrites)
    sum += one.bound * static_cast<double>(one.count);
  return growth * sum;
}
inline bool is_near(const Tensor& a, const Tensor& b, double relative) {
  if (same_bits(a, b)) return true;
  if (relative == 0 || !is_floating(a.dtype()) || a.dtype() != b.dtype() || a.sizes() != b.sizes())
    return false;
  const double largest = max(a.abs()).to(f64).item();
  return max((a - b).abs()).to(f64).item() <= relative * largest;
}

// Whether the prepared model does what the model does: the same bits, within the bounds of rewrites that were
// used, or the same error, and the same changes to its inputs.
inline bool agrees(const Prepared& prepared, const Module& model,
                   const std::vector<Tensor>& inputs) {
  const NoGrad no_grad;
  const size_t results = result_count(model);
  const std::vector<Tensor> own = copies(inputs), other = copies(inputs);
  const Outcome expected = outcome([&] { return call(model, results, own); });
  const Outcome found = outcome([&] { return call(prepared, results, other); });
  if (expected.error != found.error) {
    MESSAGE("expected '" << expected.error << "', got '" << found.error << "'");
    return false;
  }
  const double relative = allowed(prepared);
  bool same = expected.tensors.size() == found.tensors.size();
  for (size_t i = 0; same && i < found.tensors.size(); ++i)
    same = is_near(expected.tensors[i], found.tensors[i], relative);
  for (size_t i = 0; same && i < inputs.size(); ++i) same = same_bits(own[i], other[i]);
  return same;
}

inline bool has(const std::vector<std::string>& texts, const std::string& part) {
  for (const std::string& text : texts) {
    if (text.find(part) != std::string::npos) return true;
  }
  for (const std::string& text : texts) MESSAGE("'" << part << "' is not in: " << text);
  return false;
}

}  // namespace preparing
