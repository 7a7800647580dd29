// attention: scaled dot-product attention over several heads, with the keys and values of a cache.
#include <cmath>
#include <limits>

#include "common.hpp"

namespace {

using namespace nn;
namespace functional = tenon::nn::functional;

constexpr auto kName = "attention";
constexpr double infinity = std::numeric_limits<double>::infinity();

[[noreturn]] void refuse(const std::string& text) {
  throw tenon::ValueError(std::string(kName) + "(): " + text);
}

enum class Stage { none, product, capped, masked, weights };
Stage stage_of(const std::optional<std::string_view>& name) {
  if (!name) return Stage::none;
  constexpr std::pair<const char*, Stage> known[] = {{"product", Stage::product},
                                                     {"capped", Stage::capped},
                                                     {"masked", Stage::masked},
                                                     {"weights", Stage::weights}};
  for (const auto& [text, stage] : known)
    if (*name == text) return stage;
  refuse("'" + std::string(*name) +
         "' is not a value of with_scores; choose product, capped, "
         "masked or weights");
}

// [B, heads, S, E] of either form of an operand.
Tensor in_heads(const char* name, const Tensor& x, int64_t heads) {
  if (x.dim() == 4) return x;
  if (x.dim() != 3)
    refuse("'" + std::string(name) + "' must have 3 or 4 dimensions, got " + shape_text(x));
  if (heads < 1 || x.size(2) % heads != 0) {
    refuse("'" + std::string(name) + "' of shape " + shape_text(x) +
           " needs a number of heads that divides its features, got " + std::to_string(heads));
  }
  return x.reshape({x.size(0), x.size(1), heads, x.size(2) / heads}).transpose(1, 2);
}

Tensor after(const char* name, const Tensor& past, const Tensor& now) {
  if (!past.defined()) return now;
  check_same_dtype(kName, "key", now, name, past);
  const bool fits = past.dim() == 4 && past.size(0) == now.size(0) && past.size(1) == now.size(1) &&
                    past.size(3) == now.size(3);
  if (!fits) {
    refuse("'" + std::string(name) + "' of shape " + shape_text(past) +
           " does not continue with shape " + shape_text(now));
  }
  return tenon::cat({past, now}, 2);
}

// Each head as often as queries share it, in blocks.
Tensor repeated(const Tensor& x, int64_t heads) {
  return x.size(1) == heads ? x : x.repeat_interleave(heads / x.size(1), 1);
}

// softmax of scores [..., S], and zeros for a query without keys, whose row of -inf would be 0 / 0.
Tensor weights_of(const Tensor& scores) {
  if (scores.size(-1) == 0) return functional::softmax(scores, -1);
  const Tensor none = scores.detach().amax({-1}, true).eq(-infinity);
  return functional::softmax(scores.masked_fill(none, 0), -1).masked_fill(none, 0);
}

struct Attention {
  static constexpr auto schema =
      "nn.functional.attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, "
      "Tensor? past_key=None, Tensor? past_value=None, Tensor? key_lengths=None, *, bool "
      "is_causal=False, float? scale=None, float softcap=0, int num_heads=0, int kv_num_heads=0, "
      "str? with_scores=None) -> (Tensor output, Tensor present_key, Tensor present_value, Tensor? "
      "scores)";
  static constexpr auto samples =
      R"([{"query": {"shape": [1, 4, 2, 3]}, "key": {"shape": [1, 2, 3, 3]}, "value": {"shape": [1, 2, 3, 2]},
           "past_key": {"shape": [1, 2, 1, 3]}, "past_value": {"shape": [1, 2, 1, 2]}, "is_causal": true},
          {"query": {"shape": [2, 2, 4]}, "key": {"shape": [2, 3, 4]}, "value": {"shape": [2, 3, 2]},
           "attn_mask": {"shape": [2, 3]}, "num_heads": 2, "kv_num_heads": 2, "softcap": 2, "scale": 0.3,
           "with_scores": "capped"},
          {"query": {"shape": [2, 1, 2, 2]}, "key": {"shape": [2, 1, 3, 2]}, "value": {"shape": [2, 1, 3, 2]},
           "key_lengths": {"values": [3, 1], "dtype": "i64"}, "with_scores": "weights"}])";
  static constexpr auto doc =
      "softmax(softcap(query @ key^T * scale) + mask) @ value for [B, heads, length, features], or "
      "[B, length, heads * features] with num_heads and kv_num_heads. Keys and values follow those "
      "of the cache, past_key and past_value, and are returned with it; several heads of queries "
      "in "
      "turn share one of keys. softcap c is c tanh(x / c); 0 is none. attn_mask is added, or, of "
      "dtype bool, says which keys count, and may be shorter than the keys; key_lengths [B] adds "
      "the mask of the first keys, is_causal that of keys up to the query's position: behind the "
      "cache, or among key_lengths keys that end with the queries' own. "
      "A query without keys has zeros. scale is 1 / sqrt(features) unless given. with_scores "
      "returns [B, heads, L, S] as 'product', 'capped', 'masked' or 'weights' (ONNX' Attention).";
  static constexpr bool composite = true;

  using Results = std::tuple<Tensor, Tensor, Tensor, Tensor>;
  static Results forward(const Tensor& query, const Tensor& key, const Tensor& value,
                         const Tensor& attn_mask, const Tensor& past_key, const Tensor& past_value,
                         const Tensor& key_lengths, bool is_causal, std::optional<double> scale,
                         double softcap, int64_t num_heads, int64_t kv_num_heads,
                         std::optional<std::string_view> with_scores) {
    const Stage stage = stage_of(with_scores);
    check_floating(kName, "query", query);
    check_same_dtype(kName, "query", query, "key", key);
    check_same_dtype(kName, "query", query, "value", value);
    if (!(softcap >= 0)) refuse("softcap must be 0 or more");
    if (past_key.defined() != past_value.defined())
      refuse("'past_key' and 'past_value' must be given together");
    const Tensor q = in_heads("query", query, num_heads);
    const Tensor keys = after("past_key", past_key, in_heads("key", key, kv_num_heads)),
                 values = after("past_value", past_value, in_heads("value", value, kv_num_heads));
    check_heads(q, keys, values);
    const Tensor mask = mask_of(q, keys, attn_mask, past_key, key_lengths, is_causal);
    const auto features = static_cast<double>(q.size(3));
    const double factor = scale ? *scale : features == 0 ? 1 : 1 / std::sqrt(features);
    const Tensor k = repeated(keys, q.size(1)), v = repeated(values, q.size(1));
    Tensor output, scores;
    if (stage == Stage::none && softcap == 0) {
      output = functional::scaled_dot_product_attention(q, k, v, mask, 0.0, false, factor);
    } else {
      std::tie(output, scores) = by_scores(q, k, v, mask, factor, softcap, stage);
    }
    if (query.dim() == 3) output = output.transpose(1, 2).flatten(2);
    // Results are new tensors, and nothing was joined without a cache.
    if (past_key.defined()) return {output, keys, values, scores};
    return {output, keys.clone(), values.clone(), scores};
  }

 private:
  static void check_heads(const Tensor& q, const Tensor& keys, const Tensor& values) {
    const bool fits = q.size(0) == keys.size(0) && q.size(3) == keys.size(3) &&
                      keys.size(0) == values.size(0) && keys.size(1) == values.size(1) &&
                      keys.size(2) == values.size(2);
    if (!fits) {
      refuse("queries of shape " + shape_text(q) + ", keys of shape " + shape_text(keys) +
             " and values of shape " + shape_text(values) + " do not fit each other");
    }
    if (keys.size(1) == 0 || q.size(1) % keys.size(1) != 0) {
      refuse("the " + std::to_string(q.size(1)) + " heads of queries must be a multiple of the " +
             std::to_string(keys.size(1)) + " of keys");
    }
  }
  // All masks as one, which is undefined where every key counts.
  static Tensor mask_of(const Tensor& q, const Tensor& keys, const Tensor& attn_mask,
                        const Tensor& past_key, const Tensor& key_lengths, bool is_causal) {
    const int64_t steps = q.size(2), count = keys.size(2);
    const Tensor at = tenon::arange(count);
    Tensor allowed, lengths;
    if (key_lengths.defined()) {
      kernel::check_dtype(kName, "key_lengths", key_lengths.dtype(), tenon::integer_dtypes);
      const int64_t batch = q.size(0);
      kernel::check_shape(kName, "key_lengths", key_lengths, IntList(&batch, 1));
      lengths = key_lengths.to(tenon::i64).reshape({batch, 1, 1, 1});
      allowed = at.lt(lengths);
    }
    if (is_causal) {
      Tensor position = tenon::arange(steps).unsqueeze(1);
      if (past_key.defined())
        position = position + past_key.size(2);
      else if (lengths.defined())
        position = position + (lengths - steps);  // the queries are of the last keys of a cache
      const Tensor before = at.le(position);
      allowed = allowed.defined() ? allowed.logical_and(before) : before;
    }
    if (!attn_mask.defined()) return allowed;
    const bool chooses = attn_mask.dtype() == tenon::boolean;
    if (!chooses) check_same_dtype(kName, "query", q, "attn_mask", attn_mask);
    Tensor mask = attn_mask;
    if (mask.dim() > 0 && mask.size(-1) > 1 && mask.size(-1) < count) {
      const std::vector<int64_t> pads{0, count - mask.size(-1)};
      mask = chooses ? tenon::constant_pad_nd(mask, pads, false)
                     : tenon::constant_pad_nd(mask, pads, -infinity);
    }
    if (!allowed.defined()) return mask;
    return chooses ? mask.logical_and(allowed) : tenon::where(allowed, mask, -infinity);
  }
  static std::pair<Tensor, Tensor> by_scores(const Tensor& q, const Tensor& k, const Tensor& v,
                                             const Tensor& mask, double factor, double softcap,
                                             Stage stage) {
    const Tensor product = (q * factor).matmul(k.transpose(-2, -1));
    const Tensor capped = softcap == 0 ? product : (product / softcap).tanh() * softcap;
    Tensor masked = capped;
    if (mask.defined()) {
      masked =
          mask.dtype() == tenon::boolean ? tenon::where(mask, capped, -infinity) : capped + mask;
    }
    const Tensor weights = weights_of(masked);
    const Tensor chosen = stage == Stage::product   ? product
                          : stage == Stage::capped  ? capped
                          : stage == Stage::masked  ? masked
                          : stage == Stage::weights ? weights
                                                    : Tensor();
    return {weights.matmul(v), chosen};
  }
};

}  // namespace
TENON_OP(Attention)
