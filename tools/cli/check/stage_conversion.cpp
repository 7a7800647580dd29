// Stage "conversion" of types: to a Tensor and back; the text form.
#include <tenon/type.hpp>

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
  const std::string what = difference(plain, plain_of(copy), kSingle);
  if (!what.empty())
    check.find("round-trip",
               format_text("once of the object and once of clone(object), the conversion{}", what),
               source);
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
      check.find(
          "conversion",
          format_text("the object is {}, its conversion {}", shape_text(object), shape_text(plain)),
          source);
    if (const std::string what = difference(plain, plain_of(object), kExact); !what.empty())
      check.find("conversion", format_text("converted twice, the object{}", what), source);
    check_back(check, source, object, plain);
  } catch (const tenon::Error& error) {
    check.find("conversion", error.what(), source);
  }
}

}  // namespace cli
