// Transformer layers and stacks of them (Vaswani et al., 2017), named as PyTorch names them; and
// positional encodings.
#include <deque>

#include "modules/initialize.hpp"

namespace {

using namespace nn;
using tenon::arg;

Module linear(int64_t in, int64_t out, bool bias) {
  return Module::create("Linear", arg("in_features") = in, arg("out_features") = out,
                        arg("bias") = bias);
}
Module layer_norm(int64_t features, double eps, bool bias) {
  return Module::create("LayerNorm", arg("normalized_shape") = features, arg("eps") = eps,
                        arg("bias") = bias);
}
Module attention(int64_t features, int64_t heads, double dropout, bool bias, bool batch_first) {
  return Module::create("MultiheadAttention", arg("embed_dim") = features, arg("num_heads") = heads,
                        arg("dropout") = dropout, arg("bias") = bias,
                        arg("batch_first") = batch_first);
}

// The part that encoder and decoder layers share: linear1, activation, linear2, dropout.
template <class Definition>
struct TransformerLayer : ModuleOf<Definition> {
 protected:
  tenon::Op activation() const {
    const std::string name((*this)["activation"_arg]);
    return tenon::Op(name == "gelu" || name == "silu" ? "nn.functional." + name : name);
  }
  Tensor drop(const Tensor& input) const {
    const double p = (*this)["dropout"_arg];
    return this->training() && p > 0 ? tenon::nn::functional::dropout(input, p, true) : input;
  }
  Tensor feed_forward(const Tensor& input) const {
    const auto& self = static_cast<const Definition&>(*this);
    return drop(self.linear2(drop(activation().template call<Tensor>(self.linear1(input)))));
  }
};

struct TransformerEncoderLayer : TransformerLayer<TransformerEncoderLayer> {
  static constexpr auto schema =
      "TransformerEncoderLayer(int d_model, int nhead, int dim_feedforward=2048, float "
      "dropout=0.1, str activation='relu', float layer_norm_eps=1e-5, bool batch_first=False, bool "
      "norm_first=False, bool bias=True)";
  static constexpr auto forward_schema =
      "forward(Tensor src, Tensor? src_mask=None, Tensor? src_key_padding_mask=None, bool "
      "is_causal=False) -> Tensor";
  static constexpr auto samples =
      R"([{"d_model": 3, "nhead": 1, "dim_feedforward": 4, "dropout": 0.0}])";
  static constexpr auto doc =
      "Self-attention and a feed-forward network, each with a residual and a layer norm.";

  Child self_attn{*this, "self_attn"}, linear1{*this, "linear1"}, linear2{*this, "linear2"};
  Child norm1{*this, "norm1"}, norm2{*this, "norm2"};

  TransformerEncoderLayer(int64_t d_model, int64_t nhead, int64_t dim_feedforward, double dropout,
                          std::string_view, double eps, bool batch_first, bool, bool bias) {
    self_attn = attention(d_model, nhead, dropout, bias, batch_first);
    linear1 = linear(d_model, dim_feedforward, bias);
    linear2 = linear(dim_feedforward, d_model, bias);
    norm1 = layer_norm(d_model, eps, bias);
    norm2 = layer_norm(d_model, eps, bias);
    activation();  // refuses a name that no op has
  }
  Tensor forward(const Tensor& src, const Tensor& mask, const Tensor& padding,
                 bool is_causal) const {
    const auto attend = [&](const Tensor& input) {
      return drop(self_attn(input, arg("attn_mask") = mask, arg("key_padding_mask") = padding,
                            arg("is_causal") = is_causal));
    };
    if ((*this)["norm_first"_arg]) {
      const Tensor attended = src + attend(norm1(src));
      return attended + feed_forward(norm2(attended));
    }
    const Tensor attended = norm1(src + attend(src));
    return norm2(attended + feed_forward(attended));
  }
};

struct TransformerDecoderLayer : TransformerLayer<TransformerDecoderLayer> {
  static constexpr auto schema =
      "TransformerDecoderLayer(int d_model, int nhead, int dim_feedforward=2048, float "
      "dropout=0.1, str activation='relu', float layer_norm_eps=1e-5, bool batch_first=False, bool "
      "norm_first=False, bool bias=True)";
  static constexpr auto forward_schema =
      "forward(Tensor tgt, Tensor memory, Tensor? tgt_mask=None, Tensor? memory_mask=None, Tensor? "
      "tgt_key_padding_mask=None, Tensor? memory_key_padding_mask=None, bool tgt_is_causal=False, "
      "bool memory_is_causal=False) -> Tensor";
  static constexpr auto samples =
      R"([{"d_model": 3, "nhead": 1, "dim_feedforward": 4, "dropout": 0.0}])";
  static constexpr auto doc =
      "Self-attention, attention to memory and a feed-forward network, each with a residual and a "
      "layer norm.";

  Child self_attn{*this, "self_attn"}, multihead_attn{*this, "multihead_attn"};
  Child linear1{*this, "linear1"}, linear2{*this, "linear2"};
  Child norm1{*this, "norm1"}, norm2{*this, "norm2"}, norm3{*this, "norm3"};

  TransformerDecoderLayer(int64_t d_model, int64_t nhead, int64_t dim_feedforward, double dropout,
                          std::string_view, double eps, bool batch_first, bool, bool bias) {
    self_attn = attention(d_model, nhead, dropout, bias, batch_first);
    multihead_attn = attention(d_model, nhead, dropout, bias, batch_first);
    linear1 = linear(d_model, dim_feedforward, bias);
    linear2 = linear(dim_feedforward, d_model, bias);
    norm1 = layer_norm(d_model, eps, bias);
    norm2 = layer_norm(d_model, eps, bias);
    norm3 = layer_norm(d_model, eps, bias);
    activation();
  }
  Tensor forward(const Tensor& tgt, const Tensor& memory, const Tensor& tgt_mask,
                 const Tensor& memory_mask, const Tensor& tgt_padding, const Tensor& memory_padding,
                 bool tgt_is_causal, bool memory_is_causal) const {
    const auto attend = [&](const Tensor& input) {
      return drop(self_attn(input, arg("attn_mask") = tgt_mask,
                            arg("key_padding_mask") = tgt_padding,
                            arg("is_causal") = tgt_is_causal));
    };
    const auto remember = [&](const Tensor& input) {
      return drop(multihead_attn(input, memory, memory, arg("attn_mask") = memory_mask,
                                 arg("key_padding_mask") = memory_padding,
                                 arg("is_causal") = memory_is_causal));
    };
    if ((*this)["norm_first"_arg]) {
      const Tensor attended = tgt + attend(norm1(tgt));
      const Tensor remembered = attended + remember(norm2(attended));
      return remembered + feed_forward(norm3(remembered));
    }
    const Tensor attended = norm1(tgt + attend(tgt));
    const Tensor remembered = norm2(attended + remember(attended));
    return norm3(remembered + feed_forward(remembered));
  }
};

// `num_layers` copies of a layer, under "layers.0", "layers.1", ...; then a norm, if there is one.
template <class Definition>
struct TransformerStack : ModuleOf<Definition> {
  tenon::detail::Child layers{*this, "layers"}, norm{*this, "norm"};

  TransformerStack(const Module& layer, int64_t num_layers, const Module& last) {
    check_size(Definition::name, "num_layers", num_layers, 1, most_layers);
    std::vector<Module> copies{layer};
    while (copies.size() < static_cast<size_t>(num_layers)) copies.push_back(layer.clone());
    layers = Module::create("ModuleList", arg("modules") = copies);
    norm = last;
  }
};

struct TransformerEncoder : TransformerStack<TransformerEncoder> {
  static constexpr auto name = "TransformerEncoder";
  static constexpr auto schema =
      "TransformerEncoder(Module encoder_layer, int num_layers, Module? norm=None)";
  static constexpr auto forward_schema =
      "forward(Tensor src, Tensor? mask=None, Tensor? src_key_padding_mask=None, bool "
      "is_causal=False) -> Tensor";
  static constexpr auto samples = R"([{"encoder_layer": {"type": "TransformerEncoderLayer",
      "d_model": 3, "nhead": 1, "dim_feedforward": 4, "dropout": 0.0}, "num_layers": 2}])";
  static constexpr auto doc = "Copies of an encoder layer, one after another.";
  using TransformerStack::TransformerStack;
  Tensor forward(const Tensor& src, const Tensor& mask, const Tensor& padding,
                 bool is_causal) const {
    Tensor value = src;
    for (const Module& layer : layers.children(false))
      value = layer(value, mask, padding, is_causal);
    return norm.defined() ? norm(value) : value;
  }
};

struct TransformerDecoder : TransformerStack<TransformerDecoder> {
  static constexpr auto name = "TransformerDecoder";
  static constexpr auto schema =
      "TransformerDecoder(Module decoder_layer, int num_layers, Module? norm=None)";
  static constexpr auto forward_schema =
      "forward(Tensor tgt, Tensor memory, Tensor? tgt_mask=None, Tensor? memory_mask=None, Tensor? "
      "tgt_key_padding_mask=None, Tensor? memory_key_padding_mask=None, bool tgt_is_causal=False, "
      "bool memory_is_causal=False) -> Tensor";
  static constexpr auto samples = R"([{"decoder_layer": {"type": "TransformerDecoderLayer",
      "d_model": 3, "nhead": 1, "dim_feedforward": 4, "dropout": 0.0}, "num_layers": 2}])";
  static constexpr auto doc = "Copies of a decoder layer, one after another.";
  using TransformerStack::TransformerStack;
  Tensor forward(const Tensor& tgt, const Tensor& memory, const Tensor& tgt_mask,
                 const Tensor& memory_mask, const Tensor& tgt_padding, const Tensor& memory_padding,
                 bool tgt_is_causal, bool memory_is_causal) const {
    Tensor value = tgt;
    for (const Module& layer : layers.children(false)) {
      value = layer(value, memory, tgt_mask, memory_mask, tgt_padding, memory_padding,
                    tgt_is_causal, memory_is_causal);
    }
    return norm.defined() ? norm(value) : value;
  }
};

// sin and cos of positions at wavelengths from 2 pi to 10000 * 2 pi.
struct PositionalEncoding : ModuleOf<PositionalEncoding> {
  static constexpr auto schema =
      "PositionalEncoding(int d_model, int max_len=5000, bool batch_first=False)";
  static constexpr auto forward_schema = "forward(Tensor input) -> Tensor";
  static constexpr auto samples = R"([{"d_model": 3, "max_len": 8}])";
  static constexpr auto doc =
      "Adds sines and cosines of the position, [time, batch, d_model] or, with batch_first, "
      "[batch, "
      "time, d_model].";

  Buffer pe{*this, "pe", false};

  PositionalEncoding(int64_t d_model, int64_t max_len, bool) {
    check_size("PositionalEncoding", "d_model", d_model, 1);
    check_size("PositionalEncoding", "max_len", max_len, 1);
    const Tensor table = tenon::empty_tensor({max_len, d_model});
    auto* values = table.data<float>();
    for (int64_t t = 0; t < max_len; ++t) {
      for (int64_t i = 0; i < d_model; ++i) {
        const int64_t even = i - i % 2;
        const double wavelength =
            std::pow(10000.0, static_cast<double>(even) / static_cast<double>(d_model));
        const double angle = static_cast<double>(t) / wavelength;
        *values++ = static_cast<float>(i % 2 == 0 ? std::sin(angle) : std::cos(angle));
      }
    }
    pe = table;
  }
  Tensor forward(const Tensor& input) const {
    const bool first = (*this)["batch_first"_arg] || input.dim() == 2;
    const int64_t time_dim = input.dim() == 3 && first ? 1 : 0;
    const int64_t steps = input.dim() >= 2 ? input.size(time_dim) : 0;
    if (input.dim() < 2 || input.dim() > 3 || steps > pe.size(0) || input.size(-1) != pe.size(1)) {
      throw tenon::ValueError("PositionalEncoding: expected at most " + std::to_string(pe.size(0)) +
                              " steps of " + std::to_string(pe.size(1)) +
                              ", got an input of shape " + shape_text(input));
    }
    const Tensor rows = tenon::narrow(pe, 0, 0, steps);
    return input + (first ? rows : rows.unsqueeze(1));
  }
};

// A trained row for each position.
struct LearnedPositionalEncoding : ModuleOf<LearnedPositionalEncoding> {
  static constexpr auto schema =
      "LearnedPositionalEncoding(int d_model, int max_len, bool batch_first=False)";
  static constexpr auto forward_schema = "forward(Tensor input) -> Tensor";
  static constexpr auto samples = R"([{"d_model": 3, "max_len": 2, "batch_first": true}])";
  static constexpr auto doc = "Adds a trained row for each position.";

  Parameter weight{*this, "weight"};

  LearnedPositionalEncoding(int64_t d_model, int64_t max_len, bool) {
    check_size("LearnedPositionalEncoding", "d_model", d_model, 1);
    check_size("LearnedPositionalEncoding", "max_len", max_len, 1);
    weight = tenon::empty_tensor({max_len, d_model}).normal_(0, 0.02);
  }
  Tensor forward(const Tensor& input) const {
    const bool first = (*this)["batch_first"_arg] || input.dim() == 2;
    const int64_t time_dim = input.dim() == 3 && first ? 1 : 0;
    const Tensor rows = tenon::narrow(weight, 0, 0, input.size(time_dim));
    return input + (first ? rows : rows.unsqueeze(1));
  }
};

}  // namespace
TENON_MODULE(TransformerEncoderLayer)
TENON_MODULE(TransformerDecoderLayer)
TENON_MODULE(TransformerEncoder)
TENON_MODULE(TransformerDecoder)
TENON_MODULE(PositionalEncoding)
TENON_MODULE(LearnedPositionalEncoding)
