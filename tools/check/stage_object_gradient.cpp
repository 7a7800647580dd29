// Stage "gradient" of types: through the conversion to what an object was made of, and to the
// object.
#include <tenon/gradcheck.hpp>
#include <tenon/typed_tensor.hpp>

#include "format.hpp"
#include "type_check.hpp"

namespace cli {

using tenon::Tensor;

namespace {

// By differences of what the object was made of, where its op is differentiable.
void check_components(TypeCheck& check, const ObjectSource& source) {
  SampleCall call = source.call(check.settings.seed);
  std::vector<size_t> inputs;
  std::vector<Tensor> leaves;
  for (size_t t = 0; t < call.tensors.size(); ++t) {
    if (!call.places[t].requires_grad) continue;
    inputs.push_back(t);
    leaves.push_back(call.tensors[t]);
    leaves.back().requires_grad_();
  }
  tenon::GradcheckOptions options = source.arguments.gradcheck;
  if (leaves.empty() || !options.check_backward_ad) return;
  options.name = check.type;
  options.check_forward_ad = false;
  const auto converted_from = [&](const std::vector<Tensor>& values) {
    std::vector<Tensor> given = call.tensors;
    for (size_t i = 0; i < inputs.size(); ++i) given[inputs[i]] = values[i];
    return std::vector<Tensor>{plain_of(source.make(call, given))};
  };
  try {
    if (too_coarse(converted_from, leaves)) return;
    tenon::gradcheck(converted_from, leaves, options);
  } catch (const tenon::Error& error) {
    check.find("object-gradient", error.what(), source);
  }
}

// The gradient of an object that is a leaf, for a gradient of its conversion. Through an op, since
// the conversion of a subclass is the object itself.
Tensor gradient_of(const Tensor& leaf, const Tensor& seed) {
  Tensor copy = leaf;
  try {
    copy = tenon::Op("clone").call<Tensor>(leaf);
  } catch (const tenon::Error&) {  // it declines
  }
  const Tensor plain = plain_of(copy);
  if (!plain.requires_grad()) return {};
  tenon::GradientOptions options;
  options.seeds = {seed};
  options.allow_unused = true;
  return tenon::gradients({plain}, {leaf}, options)[0];
}

// A projected gradient is one of the type's structure: projecting it again changes nothing.
void check_projection(TypeCheck& check, const ObjectSource& source) {
  const Tensor object = check.make(source);
  if (!tenon::is_differentiable(object.dtype()) || !source.arguments.gradcheck.check_backward_ad)
    return;
  const tenon::EnableGrad scope;
  Tensor leaf;
  try {
    leaf = object.detach();
    leaf.requires_grad_();
  } catch (const tenon::Error&) {  // its objects have no gradients
    return;
  }
  try {
    const Tensor converted = plain_of(object);
    if (converted.sizes() != object.sizes()) return;  // a type that says nothing of its shape
    const Tensor seed = tenon::detail::arbitrary_like(converted, 1);
    const Tensor once = gradient_of(leaf, seed);
    if (!once.defined())
      return check.find("object-gradient",
                        "the conversion of an object that requires grad leads no gradient to it",
                        source);
    const Tensor plain = plain_of(once);
    if (!plain.defined()) return;
    const std::string what = difference(plain, plain_of(gradient_of(leaf, plain)), kSingle);
    if (!what.empty())
      check.find("object-gradient", format_text("projected once and twice, a gradient{}", what),
                 source);
  } catch (const tenon::Error& error) {
    check.find("object-gradient", error.what(), source);
  }
}

}  // namespace

void check_object_gradients(TypeCheck& check, const ObjectSource& source) {
  if (!check.found.empty() || !plain_of(check.make(source)).defined()) return;
  check_components(check, source);
  check_projection(check, source);
}

}  // namespace cli
