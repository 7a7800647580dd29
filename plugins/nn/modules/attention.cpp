// MultiheadAttention. Parameter names, shapes and initial values are PyTorch's.
#include "modules/initialize.hpp"

namespace {

using namespace nn;

struct MultiheadAttention : ModuleOf<MultiheadAttention> {
  static constexpr auto schema =
      "MultiheadAttention(int embed_dim, int num_heads, float dropout=0, bool bias=True, bool "
      "batch_first=False)";
  static constexpr auto forward_schema =
      "forward(Tensor query, Tensor? key=None, Tensor? value=None, *, Tensor? "
      "key_padding_mask=None, Tensor? attn_mask=None, bool is_causal=False) -> Tensor";
  static constexpr auto samples = R"([{"embed_dim": 3, "num_heads": 1}])";
  static constexpr auto doc =
      "Attention in num_heads parts of embed_dim (Vaswani et al., 2017), of query to key and value "
      "(to itself without them), each [time, batch, embed_dim] or, with batch_first, [batch, time, "
      "embed_dim]. A mask is added to the scores, or is bool: true leaves a place out.";

  Parameter in_proj_weight{*this, "in_proj_weight"}, in_proj_bias{*this, "in_proj_bias"};
  Child out_proj{*this, "out_proj"};

  MultiheadAttention(int64_t embed_dim, int64_t num_heads, double dropout, bool bias, bool) {
    check_size("MultiheadAttention", "embed_dim", embed_dim, 1, most_features);
    check_size("MultiheadAttention", "num_heads", num_heads, 1);
    if (embed_dim % num_heads != 0) {
      throw tenon::ValueError("MultiheadAttention: num_heads " + std::to_string(num_heads) +
                              " must divide embed_dim " + std::to_string(embed_dim));
    }
    if (!(dropout >= 0 && dropout <= 1)) {
      throw tenon::ValueError(
          "MultiheadAttention: dropout must be a probability, between 0 and 1, got " +
          std::to_string(dropout));
    }
    const Tensor weight = tenon::empty_tensor({3 * embed_dim, embed_dim});
    const double bound = std::sqrt(6.0 / static_cast<double>(4 * embed_dim));  // Xavier's
    in_proj_weight = weight.uniform_(-bound, bound);
    const int64_t rows = 3 * embed_dim;
    if (bias) in_proj_bias = filled(IntList(&rows, 1), 0);
    out_proj = Module::create("Linear", tenon::arg("in_features") = embed_dim,
                              tenon::arg("out_features") = embed_dim, tenon::arg("bias") = bias);
    if (bias) tenon::fill_elements(out_proj.tensor("bias"), 0);
  }

  Tensor forward(const Tensor& query, const Tensor& key_or_none, const Tensor& value_or_none,
                 const Tensor& key_padding_mask, const Tensor& attn_mask, bool is_causal) const {
    const Tensor& key = key_or_none.defined() ? key_or_none : query;
    const Tensor& value = value_or_none.defined() ? value_or_none : key;
    const bool batched = query.dim() == 3;
    check_inputs(query, key, value);
    const std::array<Tensor, 3> projected = project(query, key, value);
    const Tensor heads = attend(
        parts(projected[0], batched), parts(projected[1], batched), parts(projected[2], batched),
        mask_of(key_padding_mask, attn_mask, query.dtype(), batched), is_causal);
    return out_proj(joined(heads, batched));
  }

 private:
  int64_t embed_dim() const { return (*this)["embed_dim"_arg]; }
  int64_t num_heads() const { return (*this)["num_heads"_arg]; }
  bool batch_first() const { return (*this)["batch_first"_arg]; }

  void check_inputs(const Tensor& query, const Tensor& key, const Tensor& value) const {
    for (const Tensor* input : {&query, &key, &value}) {
      if ((input->dim() != 2 && input->dim() != 3) || input->dim() != query.dim() ||
          input->size(-1) != embed_dim()) {
        throw tenon::ValueError(
            "MultiheadAttention: expected query, key and value of 3 dimensions (2 without a batch) "
            "with a last size of " +
            std::to_string(embed_dim()) + ", got " + shape_text(*input));
      }
    }
  }
  // Self-attention computes all three by one product.
  std::array<Tensor, 3> project(const Tensor& query, const Tensor& key, const Tensor& value) const {
    namespace functional = tenon::nn::functional;
    if (key.is_same(query) && value.is_same(query)) {
      const std::vector<Tensor> parts =
          tenon::chunk(functional::linear(query, in_proj_weight, in_proj_bias), 3, -1);
      return {parts[0], parts[1], parts[2]};
    }
    const std::vector<Tensor> weights = tenon::chunk(in_proj_weight, 3);
    const std::vector<Tensor> biases =
        in_proj_bias.defined() ? tenon::chunk(in_proj_bias, 3) : std::vector<Tensor>(3);
    return {functional::linear(query, weights[0], biases[0]),
            functional::linear(key, weights[1], biases[1]),
            functional::linear(value, weights[2], biases[2])};
  }
  // A projection as [batch, heads, time, embed_dim / heads].
  Tensor parts(Tensor projected, bool batched) const {
    if (!batched)
      projected = projected.unsqueeze(0);
    else if (!batch_first())
      projected = projected.transpose(0, 1);
    return projected
        .reshape({projected.size(0), projected.size(1), num_heads(), embed_dim() / num_heads()})
        .transpose(1, 2);
  }
  Tensor joined(const Tensor& heads, bool batched) const {
    const Tensor all = heads.transpose(1, 2).reshape({heads.size(0), heads.size(2), embed_dim()});
    return !batched ? all.squeeze(0) : batch_first() ? all : all.transpose(0, 1);
  }
  // The term that is added to the scores, which broadcasts to [batch, heads, time of query, time of
  // key].
  static Tensor added(const Tensor& mask, DType dtype) {
    if (mask.dtype() != tenon::boolean) return mask;
    const Tensor zeros = tenon::empty_tensor(mask.shape(), dtype);
    tenon::fill_elements(zeros, 0);
    return zeros.masked_fill(mask, -INFINITY);
  }
  Tensor mask_of(const Tensor& key_padding_mask, const Tensor& attn_mask, DType dtype,
                 bool batched) const {
    Tensor mask;
    if (attn_mask.defined()) {
      mask = added(attn_mask, dtype);
      // [batch * heads, query, key] has a mask for each head.
      if (mask.dim() == 3) {
        mask = mask.reshape({mask.size(0) / num_heads(), num_heads(), mask.size(1), mask.size(2)});
      }
    }
    if (!key_padding_mask.defined()) return mask;
    Tensor padding = added(key_padding_mask, dtype);
    if (!batched) padding = padding.unsqueeze(0);
    padding = padding.unsqueeze(1).unsqueeze(1);
    return mask.defined() ? mask + padding : padding;
  }
  Tensor attend(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
                bool is_causal) const {
    static const tenon::Op attention("nn.functional.scaled_dot_product_attention");
    const double dropout = training() ? (*this)["dropout"_arg] : 0.0;
    return attention.call<Tensor>(query, key, value, mask, dropout, is_causal);
  }
};

}  // namespace
TENON_MODULE(MultiheadAttention)
