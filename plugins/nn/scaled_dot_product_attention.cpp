// scaled_dot_product_attention: means of values, weighted by how well keys fit queries.
#include <algorithm>
#include <cmath>

#include "attention_weights.hpp"

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
      "is_causal is the mask of keys up to the query's position. Keys and values that are masked "
      "out "
      "(with -inf where the mask is added) are not read. A query without keys has zeros. "
      "dropout_p zeroes weights at random (arXiv:1706.03762). Memory is linear in L and S, but for "
      "dropout_p above 0, tangents, second derivatives and a mask that requires grad.";
  static constexpr bool composite = true;

  static Tensor forward(const Tensor& query, const Tensor& key, const Tensor& value,
                        const Tensor& attn_mask, double dropout_p, bool is_causal,
                        std::optional<double> scale) {
    check(query, key, value, attn_mask, is_causal);
    const auto features = static_cast<double>(query.size(-1));
    const double factor = scale ? *scale : features == 0 ? 1 : 1 / std::sqrt(features);
    if (dropout_p != 0 || spreads_queries(query, key, attn_mask)) {
      const Tensor weights = attention_weights(query, key, attn_mask, is_causal, factor);
      return weighted_product(dropout_p == 0 ? weights : functional::dropout(weights, dropout_p),
                              value, is_causal || attn_mask.defined());
    }
    Shape batch = batch_shape(query);
    for (const Tensor* other : {&key, &value, &attn_mask})
      if (other->defined()) batch = broadcast_batches(batch, *other, query);
    return functional::flash_attention(expanded(query, batch), expanded(key, batch),
                                       expanded(value, batch), attn_mask, is_causal, factor);
  }

 private:
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
  // A mask that has more queries or keys than there are scores repeats these.
  static bool spreads_queries(const Tensor& query, const Tensor& key, const Tensor& attn_mask) {
    if (!attn_mask.defined()) return false;
    const auto fits = [&](int64_t from_last, int64_t size) {
      if (attn_mask.dim() < from_last) return true;
      const int64_t own = attn_mask.size(-from_last);
      return own == 1 || own == size;
    };
    return !fits(2, query.size(-2)) || !fits(1, key.size(-2));
  }

  static Shape batch_shape(const Tensor& tensor) {
    return tensor.dim() <= 2 ? Shape() : Shape({tensor.shape().data(), tensor.dim() - 2});
  }
  static Shape broadcast_batches(const Shape& a, const Tensor& other, const Tensor& query) {
    const Shape b = batch_shape(other);
    Shape shape;
    const int64_t rank = std::max(a.rank, b.rank);
    for (int64_t i = 0; i < rank; ++i) {
      const int64_t from_a = i - (rank - a.rank), from_b = i - (rank - b.rank);
      const int64_t a_size = from_a < 0 ? 1 : a[from_a], b_size = from_b < 0 ? 1 : b[from_b];
      if (a_size != b_size && a_size != 1 && b_size != 1) {
        throw tenon::ValueError(
            "scaled_dot_product_attention(): the dimensions in front of shapes " +
            shape_text(query) + " and " + shape_text(other) + " cannot be broadcast together");
      }
      shape.push(a_size == 1 ? b_size : a_size);
    }
    return shape;
  }
  static Tensor expanded(const Tensor& tensor, const Shape& batch) {
    if (kernel::same_shape(batch_shape(tensor), batch)) return tensor;
    Shape shape = batch;
    shape.push(tensor.size(-2));
    shape.push(tensor.size(-1));
    return tensor.expand(IntList(shape));
  }
};

}  // namespace
TENON_OP(ScaledDotProductAttention)
