// The weights of attention, made of ops: all scores at once.
#pragma once

#include <limits>

#include <tenon/ops.hpp>

#include "common.hpp"

namespace nn {

// ---- what is masked out is not read ---- Masks leave weights of 0, and 0 times NaN or an infinity
// would be NaN, in results and in gradients.

inline bool is_finite(const Tensor& tensor) {
  const tenon::NoGrad scope;
  return !tensor.detach().isfinite().logical_not().any().item<bool>();
}
// A tensor with zeros for what is not finite.
inline Tensor finite_part(const Tensor& tensor) {
  return tensor.masked_fill(tensor.detach().isfinite().logical_not(), 0);
}

// weights @ rows, where a weight of 0 multiplies nothing.
inline Tensor weighted_product(const Tensor& weights, const Tensor& rows, bool is_masked) {
  if (!is_masked || is_finite(rows)) return weights.matmul(rows);
  const Tensor clean = weights.matmul(finite_part(rows));
  Tensor seen, whole;
  {
    const tenon::NoGrad scope;
    const Tensor unfit = rows.detach().isfinite().logical_not(), read = weights.detach().ne(0);
    seen = read.to(clean.dtype()).matmul(unfit.to(clean.dtype())).gt(0);
    whole = weights.detach().matmul(rows.detach());
  }
  return tenon::where(seen, whole, clean);
}

// query @ key^T * scale, where what is not finite has no part in gradients of other scores.
inline Tensor masked_scores(const Tensor& query, const Tensor& key, double scale) {
  const auto scores = [&](const Tensor& q, const Tensor& k) {
    return (q * scale).matmul(k.transpose(-2, -1));
  };
  if (is_finite(query) && is_finite(key)) return scores(query, key);
  const Tensor clean = scores(finite_part(query), finite_part(key));
  Tensor whole;
  {
    const tenon::NoGrad scope;
    whole = scores(query.detach(), key.detach());
  }
  return tenon::where(whole.isfinite(), clean, whole);
}

// softmax(query @ key^T * scale + mask), and zeros for a query without keys: [..., L, S]. A mask of
// dtype bool says which keys count, and so does -inf of another.
inline Tensor attention_weights(const Tensor& query, const Tensor& key, const Tensor& attn_mask,
                                bool is_causal, double scale) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const bool is_masked = is_causal || attn_mask.defined();
  Tensor scores =
      is_masked ? masked_scores(query, key, scale) : (query * scale).matmul(key.transpose(-2, -1));
  Tensor counts;  // bool: which keys count
  if (is_causal) counts = tenon::ones({query.size(-2), key.size(-2)}, tenon::boolean).tril();
  if (attn_mask.defined() && attn_mask.dtype() == tenon::boolean) {
    counts = counts.defined() ? counts.logical_and(attn_mask) : attn_mask;
  } else if (attn_mask.defined()) {
    const Tensor sees = attn_mask.detach().ne(-infinity);
    counts = counts.defined() ? counts.logical_and(sees) : sees;
    scores = scores + attn_mask;
  }
  if (counts.defined()) scores = tenon::where(counts, scores, -infinity);
  // A query that sees NaN has no weights, but those that are masked out are 0.
  const auto without_unread = [&](const Tensor& weights) {
    return counts.defined() && !is_finite(weights) ? tenon::where(counts, weights, 0) : weights;
  };
  if (!attn_mask.defined() || key.size(-2) == 0)
    return without_unread(tenon::nn::functional::softmax(scores, -1));
  // Rows without a key would be 0 / 0.
  const Tensor none = scores.detach().amax({-1}, true).eq(-infinity);
  return without_unread(
      tenon::nn::functional::softmax(scores.masked_fill(none, 0), -1).masked_fill(none, 0));
}

}  // namespace nn
