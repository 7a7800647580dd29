// A Conv2d and what follows it as one op.
#include "modules/joined_convolution.hpp"

#include <cmath>
#include <cstring>
#include <optional>

#include <tenon/hooked.hpp>
#include <tenon/runtime.hpp>

#include "shared_ops/convolution.hpp"

namespace nn {

namespace {

using tenon::Module;

// Providers of an op or a module type that are asked for it, each with why.
struct Provider {
  std::string plugin, standing, reason;
  bool operator==(const Provider& other) const {
    return plugin == other.plugin && standing == other.standing && reason == other.reason;
  }
};
std::vector<Provider> providers_of(tenon::ItemKind kind, const char* name) {
  std::vector<Provider> asked;
  const tenon::Json providers = tenon::providers(kind, name);
  for (int64_t i = 0; i < providers.size(); ++i) {
    const tenon::Json provider = providers[i], reason = provider["reason"];
    const std::string standing = provider["standing"].text();
    if (standing != "chosen" && standing != "next") continue;
    asked.push_back(
        {provider["plugin"].text(), standing, reason.defined() ? reason.text() : std::string()});
  }
  return asked;
}
// Whether no other plugin is asked.
bool runs_by(tenon::ItemKind kind, const char* name, const char* plugin) {
  const std::vector<Provider> asked = providers_of(kind, name);
  return asked.size() == 1 && asked[0].plugin == plugin;
}

// The attributes of a Conv2d.
struct Attributes {
  IntList stride, dilation;
  Argument padding;
  int64_t groups;

  explicit Attributes(const Module& convolution)
      : stride(convolution.attribute<IntList>("stride")),
        dilation(convolution.attribute<IntList>("dilation")),
        padding(raw(convolution, "padding")),
        groups(convolution.attribute<int64_t>("groups")) {}

 private:
  static Argument raw(const Module& module, std::string_view name) {
    const tenon_value* value = nullptr;
    tenon::detail::check(tenon::service::modules().attribute, module.handle(), name.data(),
                         static_cast<int64_t>(name.size()), &value);
    return Argument(*value);
  }
};

bool fits(const Tensor& tensor, DType dtype) {
  return tensor.defined() && is_plain(tensor) && tensor.dtype() == dtype;
}
bool fits(const Tensor& tensor, DType dtype, int64_t features) {
  return fits(tensor, dtype) && tensor.dim() == 1 && tensor.shape()[0] == features;
}

// Batch norm by its running statistics, as one factor and one term for each feature: what
// nn.functional.batch_norm computes in eval mode.
struct Normalization {
  Tensor factor, term;

  // False where it needs another computation.
  bool read(const Module& norm, DType dtype, int64_t features) {
    const Tensor mean = norm.tensor("running_mean"), variance = norm.tensor("running_var"),
                 weight = norm.tensor("weight"), bias = norm.tensor("bias");
    const auto eps = norm.attribute<double>("eps");
    if (norm.training() || !fits(mean, dtype, features) || !fits(variance, dtype, features) ||
        (weight.defined() && !fits(weight, dtype, features)) ||
        (bias.defined() && !fits(bias, dtype, features)) || !(eps >= 0)) {
      return false;
    }
    factor = tenon::empty_tensor({features}, dtype);
    term = tenon::empty_tensor({features}, dtype);
    const auto whole = [](const Tensor& tensor) {
      return tensor.defined() ? dense(tensor) : tensor;
    };
    const Tensor m = whole(mean), v = whole(variance), w = whole(weight), b = whole(bias);
    visit_floating(dtype, [&](auto zero) {
      using T = decltype(zero);
      const auto elements = [](const Tensor& t) {
        return t.defined() ? kernel::elements<const T>(t) : nullptr;
      };
      const T *means = elements(m), *variances = elements(v), *weights = elements(w),
              *biases = elements(b);
      T *const factors = kernel::elements<T>(factor), *const terms = kernel::elements<T>(term);
      for (int64_t f = 0; f < features; ++f) {
        factors[f] = T{1} / std::sqrt(variances[f] + static_cast<T>(eps));
        if (weights != nullptr) factors[f] *= weights[f];
        terms[f] = (biases == nullptr ? T{0} : biases[f]) - means[f] * factors[f];
      }
    });
    return true;
  }
};

std::optional<Convolution> sizes_of(const Tensor& input, const Tensor& weight,
                                    const Attributes& attributes) {
  try {
    return Convolution("conv2d", input.dtype(), input.shape(), weight.shape(), attributes.stride,
                       attributes.padding, attributes.dilation, attributes.groups);
  } catch (const tenon::Error&) {
    return std::nullopt;  // the module raises it under its own name
  }
}

}  // namespace

bool is_of_type(const Module& module, const char* type) {
  return module.defined() &&
         std::strcmp(tenon::service::modules().type(module.handle()), type) == 0;
}

bool joined_by_same_plugins() {
  for (const char* type : {"Conv2d", "BatchNorm2d", "ReLU", "MaxPool2d"}) {
    if (!runs_by(tenon::ItemKind::module, type, "nn")) return false;
  }
  for (const char* op : {"nn.functional.batch_norm", "nn.functional.max_pool2d"}) {
    if (!runs_by(tenon::ItemKind::op, op, "nn")) return false;
  }
  for (const char* op : {"relu", "relu_", "add", "add_"}) {
    if (!runs_by(tenon::ItemKind::op, op, "math")) return false;
  }
  return providers_of(tenon::ItemKind::op, "nn.functional.conv2d") ==
         providers_of(tenon::ItemKind::op, "nn.functional.conv2d_tail");
}

bool may_join() { return !tenon::GradMode::enabled() && tenon::service::modes().count() == 0; }

Tensor run_joined(const JoinedConvolution& joined, const Tensor& input) {
  for (const Module* module : {&joined.convolution, &joined.norm, &joined.activation}) {
    if (module->defined() && tenon::is_watched(*module)) return {};
  }
  const Tensor weight = joined.convolution.tensor("weight"),
               bias = joined.convolution.tensor("bias");
  if (!input.defined() || input.dim() != 4) return {};
  const DType dtype = input.dtype();
  if ((dtype != tenon::f32 && dtype != tenon::f64) || !fits(input, dtype) || !fits(weight, dtype) ||
      (bias.defined() && !fits(bias, dtype))) {
    return {};
  }
  const Attributes attributes(joined.convolution);
  const std::optional<Convolution> k = sizes_of(input, weight, attributes);
  if (!k) return {};
  const Tensor& addend = joined.addend;
  if (addend.defined() &&
      (!fits(addend, dtype) || !kernel::same_shape(addend.shape(), k->output_shape()))) {
    return {};
  }
  Normalization normalization;
  if (joined.norm.defined() && !normalization.read(joined.norm, dtype, k->features)) return {};
  static const tenon::Op conv2d_tail("nn.functional.conv2d_tail");
  return conv2d_tail.call<Tensor>(input, weight, bias, normalization.factor, normalization.term,
                                  addend, joined.relu, attributes.stride, attributes.padding,
                                  attributes.dilation, attributes.groups);
}

}  // namespace nn
