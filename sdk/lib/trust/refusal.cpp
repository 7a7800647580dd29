// Refusals in words.
#include <tenon/trust/refusal.hpp>

TENON_NAMESPACE_BEGIN

namespace trust {

std::string Refusal::text() const {
  std::string text = place.empty() ? "" : place + ": ";
  text += problem;
  if (!expected.empty()) text += "; expected " + expected;
  if (!found.empty()) text += (expected.empty() ? "; found " : ", found ") + found;
  if (!path.empty()) text += "; file '" + path + "'";
  if (!remedy.empty()) text += "; " + remedy;
  return text;
}

}  // namespace trust

TENON_NAMESPACE_END
