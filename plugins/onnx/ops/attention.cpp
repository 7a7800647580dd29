// Attention with the names of ONNX.
#include "common.hpp"

namespace {

using namespace onnx;
using tenon::arg, tenon::Op;

// The stage of nn.functional.attention whose scores a node with four outputs gives.
const char* stage_of(int64_t mode) {
  static constexpr const char* kStages[] = {"product", "capped", "masked", "weights"};
  if (mode < 0 || mode > 3)
    throw tenon::ValueError("onnx.attention(): qk_matmul_output_mode is " + std::to_string(mode) +
                            ", expected 0 to 3");
  return kStages[mode];
}

struct Attention {
  static constexpr auto schema =
      "onnx.attention(Tensor Q, Tensor K, Tensor V, Tensor? attn_mask=None, Tensor? past_key=None, "
      "Tensor? past_value=None, Tensor? nonpad_kv_seqlen=None, *, bool is_causal=False, int "
      "kv_num_heads=0, int q_num_heads=0, int qk_matmul_output_mode=0, float? scale=None, float "
      "softcap=0.0, int outputs=1) -> (Tensor Y, Tensor present_key, Tensor present_value, Tensor? "
      "qk_matmul_output)";
  static constexpr auto samples =
      R"([{"Q": {"shape": [1, 2, 3, 4]}, "K": {"shape": [1, 2, 5, 4]}, "V": {"shape": [1, 2, 5, 4]},
           "attn_mask": {"shape": [3, 5]}, "outputs": 4, "qk_matmul_output_mode": 1}])";
  static constexpr auto doc =
      "nn.functional.attention, whose scores are computed where the fourth output is asked for.";
  static constexpr bool composite = true;
  static std::tuple<Tensor, Tensor, Tensor, Tensor> forward(
      const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, const Tensor& past_key,
      const Tensor& past_value, const Tensor& lengths, bool is_causal, int64_t kv_num_heads,
      int64_t q_num_heads, int64_t mode, std::optional<double> scale, double softcap,
      int64_t outputs) {
    static const Op op("nn.functional.attention");
    const std::string_view stage = stage_of(mode);
    const bool converts =
        mask.defined() && mask.dtype() != tenon::boolean && mask.dtype() != q.dtype();
    return op.call<std::tuple<Tensor, Tensor, Tensor, Tensor>>(
        q, k, v, converts ? mask.to(q.dtype()) : mask, past_key, past_value, lengths,
        arg("is_causal") = is_causal, arg("scale") = Argument(scale), arg("softcap") = softcap,
        arg("num_heads") = q_num_heads, arg("kv_num_heads") = kv_num_heads,
        arg("with_scores") = outputs > 3 ? Argument(stage) : Argument(tenon::none));
  }
};

}  // namespace
TENON_OP(Attention)
