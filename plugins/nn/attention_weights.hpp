// The weights of attention, made of ops: all scores at once.
#pragma once

#include <limits>

#include <tenon/ops.hpp>

#include "common.hpp"

namespace nn {

// softmax(query @ key^T * scale + mask), and zeros for a query without keys: [..., L, S]. A mask of
// dtype bool says which keys count.
inline Tensor attention_weights(const Tensor& query, const Tensor& key, const Tensor& attn_mask,
                                bool is_causal, double scale) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Tensor scores = (query * scale).matmul(key.transpose(-2, -1));
  Tensor counts;  // bool: which keys count
  if (is_causal) counts = tenon::ones({query.size(-2), key.size(-2)}, tenon::boolean).tril();
  if (attn_mask.defined() && attn_mask.dtype() == tenon::boolean)
    counts = counts.defined() ? counts.logical_and(attn_mask) : attn_mask;
  else if (attn_mask.defined())
    scores = scores + attn_mask;
  if (counts.defined()) scores = tenon::where(counts, scores, -infinity);
  if (!attn_mask.defined() || key.size(-2) == 0) return tenon::nn::functional::softmax(scores, -1);
  // Rows without a key would be 0 / 0.
  const Tensor none = scores.detach().amax({-1}, true).eq(-infinity);
  return tenon::nn::functional::softmax(scores.masked_fill(none, 0), -1).masked_fill(none, 0);
}

}  // namespace nn
