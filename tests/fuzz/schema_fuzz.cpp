// Fuzzes the schema parser: whatever parses must parse again from its normalized text, to the same.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/schema/schema.hpp"

using namespace tenon::core;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view source(reinterpret_cast<const char*>(data), size);
  Schema schema;
  try {
    schema = parse_schema(source);
  } catch (const Error& error) {
    require(error.kind == TENON_ERROR_VALUE);
    require(is_utf8(error.message));
    return 0;
  }
  // A schema that was taken once is taken again.
  const Schema again = parse_schema(schema.text);
  require(again.text == schema.text);
  require(signature_text(again) == signature_text(schema));
  require(again.required_count == schema.required_count);
  require(again.parameters.size() <= static_cast<size_t>(kMaxParameters));
  return 0;
}
