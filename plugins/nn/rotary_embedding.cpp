// rotary_embedding: pairs of features turned by an angle that depends on the position.
#include "common.hpp"

namespace {

using namespace nn;

constexpr auto kName = "rotary_embedding";

[[noreturn]] void refuse(const std::string& text) {
  throw tenon::ValueError(std::string(kName) + "(): " + text);
}

struct RotaryEmbedding {
  static constexpr auto schema =
      "nn.functional.rotary_embedding(Tensor input, Tensor cos, Tensor sin, Tensor? "
      "position_ids=None, *, bool interleaved=False, int num_heads=0, int rotary_dim=0) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [1, 2, 3, 4]}, "cos": {"shape": [1, 3, 2]}, "sin": {"shape": [1, 3, 2]}},
          {"input": {"shape": [2, 2, 8]}, "cos": {"shape": [5, 1]}, "sin": {"shape": [5, 1]},
           "position_ids": {"values": [[0, 4], [2, 1]], "dtype": "i64"}, "num_heads": 2,
           "rotary_dim": 2, "interleaved": true}])";
  static constexpr auto doc =
      "input [B, heads, S, E], or [B, S, heads * E] with num_heads, whose pairs of features (a, b) "
      "become (a cos - b sin, a sin + b cos). A pair is one feature of the first and one of the "
      "second half, with interleaved two neighbours; features from rotary_dim on stay. cos and sin "
      "are [B, S, pairs], or tables [positions, pairs] of which position_ids [B, S] chooses "
      "(arXiv:2104.09864, ONNX' RotaryEmbedding).";
  static constexpr bool composite = true;

  static Tensor forward(const Tensor& input, const Tensor& cos, const Tensor& sin,
                        const Tensor& position_ids, bool interleaved, int64_t num_heads,
                        int64_t rotary_dim) {
    check_floating(kName, "input", input);
    check_same_dtype(kName, "input", input, "cos", cos);
    check_same_dtype(kName, "input", input, "sin", sin);
    check_setting(kName, "num_heads", num_heads, 0);
    check_setting(kName, "rotary_dim", rotary_dim, 0);
    const bool flat = input.dim() == 3;
    if (!flat && input.dim() != 4) {
      refuse("'input' must have shape [B, heads, S, E] or [B, S, heads * E], got " +
             shape_text(input));
    }
    if (flat && (num_heads == 0 || input.size(2) % num_heads != 0)) {
      refuse("num_heads must divide the " + std::to_string(input.size(2)) +
             " features of an input of shape " + shape_text(input) + ", got " +
             std::to_string(num_heads));
    }
    const Tensor x =
        flat ? input.reshape({input.size(0), input.size(1), num_heads, input.size(2) / num_heads})
             : input;
    const int64_t features = x.size(3), turned = rotary_dim == 0 ? features : rotary_dim;
    if (turned > features || turned % 2 != 0) {
      refuse("rotary_dim must be even and at most the " + std::to_string(features) +
             " features of a head, got " + std::to_string(turned));
    }
    const int64_t steps = flat ? x.size(1) : x.size(2);
    const int64_t dim = flat ? 2 : 1;  // the heads
    const Tensor across = angles("cos", cos, position_ids, x.size(0), steps, turned / 2, dim),
                 along = angles("sin", sin, position_ids, x.size(0), steps, turned / 2, dim);
    const Tensor part = x.narrow(3, 0, turned);
    const Tensor a = interleaved ? part.slice(3, 0, tenon::none, 2) : part.narrow(3, 0, turned / 2);
    const Tensor b =
        interleaved ? part.slice(3, 1, tenon::none, 2) : part.narrow(3, turned / 2, turned / 2);
    const Tensor first = a * across - b * along, second = a * along + b * across;
    Tensor result = interleaved ? tenon::stack({first, second}, -1).flatten(-2, -1)
                                : tenon::cat({first, second}, -1);
    if (turned < features)
      result = tenon::cat({result, x.narrow(3, turned, features - turned)}, -1);
    return flat ? result.reshape(input.sizes()) : result;
  }

 private:
  // [B, 1, S, pairs], or [B, S, 1, pairs] where `heads` is 2.
  static Tensor angles(const char* name, const Tensor& table, const Tensor& position_ids,
                       int64_t batch, int64_t steps, int64_t pairs, int64_t heads) {
    Tensor chosen = table;
    if (position_ids.defined()) {
      kernel::check_dtype(kName, "position_ids", position_ids.dtype(), tenon::integer_dtypes);
      const int64_t positions[] = {batch, steps};
      kernel::check_shape(kName, "position_ids", position_ids, IntList(positions, 2));
      if (table.dim() != 2) {
        refuse("'" + std::string(name) + "' must have shape [positions, pairs], got " +
               shape_text(table));
      }
      chosen = tenon::nn::functional::embedding(position_ids, table);
    }
    const int64_t expected[] = {batch, steps, pairs};
    kernel::check_shape(kName, name, chosen, IntList(expected, 3));
    return chosen.unsqueeze(heads);
  }
};

}  // namespace
TENON_OP(RotaryEmbedding)
