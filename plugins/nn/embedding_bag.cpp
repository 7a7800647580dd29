// embedding_bag: sums, means or maxima of rows of a table.
#include "common.hpp"

namespace {

using namespace nn;

constexpr auto kName = "embedding_bag";

[[noreturn]] void refuse(const std::string& text) {
  throw tenon::ValueError(std::string(kName) + "(): " + text);
}

// The bag of each index.
std::vector<int64_t> bags_of(const Tensor& input, const Tensor& offsets, bool include_last_offset,
                             int64_t& count) {
  std::vector<int64_t> bags;
  if (input.dim() == 2) {
    if (offsets.defined()) refuse("'offsets' has no meaning for an input of 2 dimensions");
    count = input.size(0);
    for (int64_t i = 0; i < input.numel(); ++i) bags.push_back(i / input.size(1));
    return bags;
  }
  if (input.dim() != 1 || !offsets.defined() || offsets.dim() != 1)
    refuse("'input' must be [bags, indices], or [indices] with a vector 'offsets', got " +
           shape_text(input));
  kernel::check_dtype(kName, "offsets", offsets.dtype(), tenon::integer_dtypes);
  auto starts = offsets.to(tenon::i64).to_vector<int64_t>();
  if (include_last_offset) {
    if (starts.empty() || starts.back() != input.numel())
      refuse("with include_last_offset the last of 'offsets' must be the number of indices, " +
             std::to_string(input.numel()));
    starts.pop_back();
  }
  count = static_cast<int64_t>(starts.size());
  if (starts.empty() ? input.numel() != 0 : starts[0] != 0) refuse("'offsets' must begin with 0");
  starts.push_back(input.numel());
  for (size_t i = 0; i + 1 < starts.size(); ++i) {
    if (starts[i + 1] < starts[i]) {
      refuse("'offsets' must ascend up to the " + std::to_string(input.numel()) + " indices, got " +
             std::to_string(starts[i]) + " before " + std::to_string(starts[i + 1]));
    }
    bags.insert(bags.end(), static_cast<size_t>(starts[i + 1] - starts[i]),
                static_cast<int64_t>(i));
  }
  return bags;
}

struct EmbeddingBag {
  static constexpr auto schema =
      "nn.functional.embedding_bag(Tensor input, Tensor weight, Tensor? offsets=None, *, str "
      "mode='mean', Tensor? per_sample_weights=None, bool include_last_offset=False, int? "
      "padding_idx=None) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3], "dtype": "i64", "high": 4}, "weight": {"shape": [4, 3]}},
          {"input": {"values": [1, 0, 3, 1], "dtype": "i64"}, "weight": {"shape": [4, 2]},
           "offsets": {"values": [0, 3, 3], "dtype": "i64"}, "mode": "sum",
           "per_sample_weights": {"shape": [4]}},
          {"input": {"values": [1, 0, 3], "dtype": "i64"}, "weight": {"shape": [4, 2]},
           "offsets": {"values": [0, 1, 3], "dtype": "i64"}, "mode": "max",
           "include_last_offset": true}])";
  static constexpr auto doc =
      "The sum, mean or max of the rows of weight that each bag of indices names: a row of input, "
      "or "
      "what is between two offsets of a vector. per_sample_weights multiply the rows of a sum. "
      "Indices padding_idx do not count; a bag without indices is 0.";
  static constexpr bool composite = true;

  // Offsets decide what is added up, but not the shape.
  static Tensor shape_rule(const Tensor& input, const Tensor& weight, const Tensor& offsets,
                           std::string_view, const Tensor&, bool include_last_offset,
                           std::optional<int64_t>) {
    const int64_t bags =
        offsets.defined() ? offsets.numel() - (include_last_offset ? 1 : 0) : input.size(0);
    return tenon::empty_tensor({bags, weight.size(1)}, weight.dtype());
  }
  static Tensor forward(const Tensor& input, const Tensor& weight, const Tensor& offsets,
                        std::string_view mode, const Tensor& per_sample_weights,
                        bool include_last_offset, std::optional<int64_t> padding_idx) {
    kernel::check_dtype(kName, "input", input.dtype(), tenon::integer_dtypes);
    check_floating(kName, "weight", weight);
    if (mode != "sum" && mode != "mean" && mode != "max")
      refuse("'" + std::string(mode) + "' is not a mode; choose sum, mean or max");
    if (weight.dim() != 2)
      refuse("'weight' must have shape [rows, features], got " + shape_text(weight));
    int64_t count = 0;
    const std::vector<int64_t> bags = bags_of(input, offsets, include_last_offset, count);
    Tensor bag = tenon::from_range(bags.begin(), bags.end());
    Tensor index = input.reshape({-1}).to(tenon::i64), factors;
    if (per_sample_weights.defined()) {
      if (mode != "sum") refuse("'per_sample_weights' needs mode 'sum'");
      kernel::check_same_shape(kName, "input", input, "per_sample_weights", per_sample_weights);
      check_same_dtype(kName, "weight", weight, "per_sample_weights", per_sample_weights);
      factors = per_sample_weights.reshape({-1, 1});
    }
    if (padding_idx) {
      const int64_t padding = *padding_idx < 0 ? *padding_idx + weight.size(0) : *padding_idx;
      const Tensor kept = index.ne(padding).nonzero().select(1, 0);
      index = index.index_select(0, kept);
      bag = bag.index_select(0, kept);
      if (factors.defined()) factors = factors.index_select(0, kept);
    }
    const Tensor rows = tenon::nn::functional::embedding(index, weight);
    const Tensor zeros = tenon::zeros({count, weight.size(1)}, weight.dtype());
    if (mode == "max") {
      return zeros.scatter_reduce(0, bag.unsqueeze(1).expand(rows.sizes()), rows, "amax",
                                  /*include_self*/ false);
    }
    const Tensor sums = zeros.index_add(0, bag, factors.defined() ? rows * factors : rows);
    if (mode == "sum") return sums;
    const Tensor sizes = tenon::zeros({count}, weight.dtype())
                             .index_add(0, bag, tenon::ones({bag.numel()}, weight.dtype()));
    return sums / sizes.clamp(1).unsqueeze(1);
  }
};

}  // namespace
TENON_OP(EmbeddingBag)
