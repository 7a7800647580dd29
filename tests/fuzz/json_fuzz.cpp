// Fuzzes the document parser: whatever parses must print, and print the same after another round.
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/json.hpp"
#include "core/base/text.hpp"

using namespace tenon::core;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void visit(const tenon_json& node) {
  static_cast<void>(node.value());
  for (const tenon_json& child : node.children()) {
    require(child.parent() == &node);
    if (node.is_object()) require(node.find(child.key()) == &child);
    visit(child);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view source(reinterpret_cast<const char*>(data), size);
  for (const bool relaxed : {false, true}) {
    JsonOptions options;
    options.relaxed = relaxed;
    std::vector<DuplicateKey> duplicates;
    if (relaxed) options.duplicates = &duplicates;
    try {
      const Json document = parse_json(source, options);
      visit(*document);
      const std::string text = dump(*document);
      require(dump(*parse_json(text)) == text);
      require(dump(*parse_json(dump(*document, 2))) == text);
      if (document->size() > 0) {
        const tenon_json& last = *document->at(document->size() - 1);
        require(json_at_pointer(*document, pointer_of(last)) == &last);
      }
    } catch (const Error& error) {
      require(error.kind == TENON_ERROR_VALUE);
      require(is_utf8(error.message));
    }
  }
  return 0;
}
