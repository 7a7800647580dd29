// Stage "threads" of types: several threads use one object at once.
#include <string>

#include <tenon/typed_tensor.hpp>

#include "calls_together.hpp"
#include "format.hpp"
#include "type_check.hpp"

namespace cli {

using tenon::Tensor;

namespace {

constexpr int kRounds = 50;

struct Seen {
  std::string text;
  Tensor plain, copy;
};
Seen look_at(const Tensor& object) {
  Seen seen{object.text(), plain_of(object), {}};
  try {
    seen.copy = plain_of(tenon::Op("clone").call<Tensor>(object));
  } catch (const tenon::Error&) {  // it declines, each time
  }
  return seen;
}
std::string difference_between(const Seen& alone, const Seen& beside) {
  if (alone.text != beside.text)
    return format_text(" is printed as {} and as {}", alone.text, beside.text);
  const std::string what = difference(alone.plain, beside.plain, kExact);
  return what.empty() ? difference(alone.copy, beside.copy, kExact) : what;
}

void share(TypeCheck& check, const ObjectSource& source) {
  const Tensor object = check.make(source);
  const Seen alone = look_at(object);
  const std::string breach = breach_together(kCallers, kRounds, [&](size_t) {
    const std::string what = difference_between(alone, look_at(object));
    return what.empty() ? what : format_text("once alone and once beside other uses, it{}", what);
  });
  if (!breach.empty()) check.find("threads", breach, source);
}

}  // namespace

void check_object_threads(TypeCheck& check, const ObjectSource& source) {
  if (check.found.empty()) share(check, source);
}

}  // namespace cli
