// Stage "conversion" of types: to a Tensor and back; the text form.
#include <algorithm>

#include <tenon/typed_tensor.hpp>

#include "format.hpp"
#include "type_check.hpp"

namespace cli {

using tenon::Tensor;

namespace {

// A copy by an op is converted and, by a type that says so, converted back.
void check_back(TypeCheck& check, const ObjectSource& source, const Tensor& object,
                const Tensor& plain) {
  Tensor copy;
  try {
    copy = tenon::Op("clone").call<Tensor>(object);
  } catch (const tenon::Error&) {  // it declines
    return;
  }
  const Tensor converted = plain_of(copy);
  const std::string what = difference(plain, converted, kSingle);
  if (!what.empty())
    check.find("round-trip",
               format_text("once of the object and once of clone(object), the conversion{}", what),
               source);
  else if (converted.defined() && has_data(converted) && has_data(plain) &&
           shares_storage(plain, converted))
    check.find("round-trip", "clone(object) is in the memory of the object", source);
}

// Made of other tensors with the same numbers: the same object.
void check_made_of(TypeCheck& check, const ObjectSource& source, const Tensor& plain) {
  const SampleCall call = source.call(check.settings.seed);
  const bool tensors = std::any_of(call.tensors.begin(), call.tensors.end(), [](const Tensor& t) {
    return t.defined() && t.dtype() == tenon::f64;
  });
  if (!tensors) return;
  const auto compare = [&](const char* how, const std::vector<Tensor>& given,
                           const Tolerance& tolerance) {
    Tensor object;
    try {
      object = source.make(call, given);
    } catch (const tenon::Error&) {  // its maker takes the others alone
      return;
    }
    if (tenon::type_name(object) != check.type) return;
    const Tensor converted = plain_of(object);
    std::string what = difference(plain, converted, tolerance);
    if (what.empty() && object.dim() > 0 && object.dtype() != converted.dtype())
      what = format_text(" is {}, and the object {}", shape_dtype_text(converted),
                         shape_dtype_text(object));
    if (!what.empty())
      check.find("conversion", format_text("made of {}, the conversion{}", how, what), source);
  };
  std::vector<Tensor> strided;
  for (const Tensor& tensor : call.tensors)
    strided.push_back(tensor.defined() ? kLayouts[0].make(tensor) : tensor);
  if (source.arguments.layouts)
    compare("contiguous tensors and of others with the same elements", strided, kExact);
  if (source.arguments.precision) compare("f64 and of f32", in_single(call.tensors), kOtherDtype);
}

}  // namespace

void check_conversion(TypeCheck& check, const ObjectSource& source) {
  const Tensor object = check.make(source);
  try {
    object.text();
  } catch (const tenon::Error& error) {
    check.find("text", format_text("its text fails: {}", error.what()), source);
  }
  try {
    const Tensor plain = plain_of(object);
    if (!plain.defined()) {
      check.listener.note(
          "it has no conversion to Tensor: elements, gradients and overrides are not compared");
      return;
    }
    // A type that says nothing of its shape says nothing of its dtype.
    if (object.dim() > 0 && plain.dtype() != object.dtype())
      check.find("conversion",
                 format_text("the object is {}, its conversion {}", shape_dtype_text(object),
                             shape_dtype_text(plain)),
                 source);
    if (const std::string what = difference(plain, plain_of(object), kExact); !what.empty())
      check.find("conversion", format_text("converted twice, the object{}", what), source);
    check_made_of(check, source, plain);
    check_back(check, source, object, plain);
  } catch (const tenon::Error& error) {
    check.find("conversion", error.what(), source);
  }
}

}  // namespace cli
