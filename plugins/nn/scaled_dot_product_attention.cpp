// scaled_dot_product_attention: means of values, weighted by how well keys fit queries.
#include <cmath>
#include <limits>

#include "common.hpp"

namespace {

using namespace nn;
namespace functional = tenon::nn::functional;

struct ScaledDotProductAttention {
  static constexpr auto schema =
      "nn.functional.scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? "
      "attn_mask=None, float dropout_p=0, bool is_causal=False, *, float? scale=None) -> Tensor";
  static constexpr auto samples =
      R"([{"query": {"shape": [2, 3, 2]}, "key": {"shape": [2, 4, 2]}, "value": {"shape": [2, 4, 3]}},
          {"query": {"shape": [3, 2]}, "key": {"shape": [3, 2]}, "value": {"shape": [3, 2]}, "is_causal": true},
          {"query": {"shape": [2, 2]}, "key": {"shape": [3, 2]}, "value": {"shape": [3, 2]},
           "attn_mask": {"shape": [2, 3]}, "scale": 0.5}])";
  static constexpr auto doc =
      "softmax(query @ key^T * scale + mask) @ value for queries [..., L, E], keys [..., S, E] and "
      "values [..., S, V], with the dimensions in front broadcast: [..., L, V]. scale is "
      "1 / sqrt(E) unless given. attn_mask is added, or, of dtype bool, says which keys count; "
      "is_causal is the mask of keys up to the query's position. A query without keys has zeros. "
      "dropout_p zeroes weights at random (arXiv:1706.03762).";
  static constexpr bool composite = true;

  static Tensor forward(const Tensor& query, const Tensor& key, const Tensor& value,
                        const Tensor& attn_mask, double dropout_p, bool is_causal,
                        std::optional<double> scale) {
    check(query, key, value, attn_mask, is_causal);
    const auto features = static_cast<double>(query.size(-1));
    const double factor = scale ? *scale : features == 0 ? 1 : 1 / std::sqrt(features);
    Tensor scores = (query * factor).matmul(key.transpose(-2, -1));
    Tensor counts;  // of dtype bool: which keys count
    if (is_causal) counts = tenon::ones({query.size(-2), key.size(-2)}, tenon::boolean).tril();
    if (attn_mask.defined() && attn_mask.dtype() == tenon::boolean) counts = attn_mask;
    if (counts.defined()) {
      scores = tenon::where(counts, scores, -infinity);
    } else if (attn_mask.defined()) {
      scores = scores + attn_mask;
    }
    Tensor weights;
    if (attn_mask.defined() && key.size(-2) != 0) {
      // Rows without a key would be 0 / 0.
      const Tensor none = scores.detach().amax({-1}, true).eq(-infinity);
      weights = functional::softmax(scores.masked_fill(none, 0), -1).masked_fill(none, 0);
    } else {
      weights = functional::softmax(scores, -1);
    }
    if (dropout_p != 0) weights = functional::dropout(weights, dropout_p);
    return weights.matmul(value);
  }

 private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();

  static void check(const Tensor& query, const Tensor& key, const Tensor& value,
                    const Tensor& attn_mask, bool is_causal) {
    constexpr auto op = "scaled_dot_product_attention";
    check_floating(op, "query", query);
    check_same_dtype(op, "query", query, "key", key);
    check_same_dtype(op, "query", query, "value", value);
    if (query.dim() < 2 || key.dim() < 2 || value.dim() < 2 || query.size(-1) != key.size(-1) ||
        key.size(-2) != value.size(-2)) {
      throw tenon::ValueError(
          "scaled_dot_product_attention(): 'query', 'key' and 'value' must be [..., L, E], "
          "[..., S, E] and [..., S, V], got shapes " +
          shape_text(query) + ", " + shape_text(key) + " and " + shape_text(value));
    }
    if (!attn_mask.defined()) return;
    if (is_causal) {
      throw tenon::ValueError(
          "scaled_dot_product_attention(): either 'attn_mask' or is_causal can be given, not both");
    }
    if (attn_mask.dtype() != tenon::boolean)
      check_same_dtype(op, "query", query, "attn_mask", attn_mask);
  }
};

}  // namespace
TENON_OP(ScaledDotProductAttention)
