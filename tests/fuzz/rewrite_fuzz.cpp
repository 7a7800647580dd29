// Fuzzes rules of rewrites: any text is read or refused with its column, and what is read is read again
// from its parts.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include <tenon/prepare/rewrite.hpp>
#include <tenon/text.hpp>

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view source(reinterpret_cast<const char*>(data), size);
  tenon::rewrites::Rule rule;
  try {
    rule = tenon::rewrites::read_rule("a", source);
  } catch (const tenon::Error& error) {
    const std::string text = error.what();
    require(error.kind() == TENON_ERROR_VALUE);
    require(tenon::printable(text) == text);
    require(text.find(" has at column ") != std::string::npos);
    return 0;
  }
  require(!rule.pattern.empty() && !rule.replacement.empty() && rule.bound >= 0);
  std::string again = rule.name + ": " + rule.pattern_text + " => " + rule.replacement_text;
  if (!rule.condition_text.empty()) again += " where " + rule.condition_text;
  const tenon::rewrites::Rule second = tenon::rewrites::read_rule("a", again);
  require(second.pattern.size() == rule.pattern.size());
  require(second.conditions.size() == rule.conditions.size());
  require(second.replacement_text == rule.replacement_text);
  return 0;
}
