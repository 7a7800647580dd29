// Fuzzes the tree parser: whatever parses must print, and print the same after another round.
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/base/tree.hpp"

using namespace tenon::core;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void visit(const tenon_tree& node) {
  static_cast<void>(node.value());
  for (const tenon_tree& child : node.children()) {
    require(child.parent() == &node);
    if (node.is_object()) require(node.find(child.key()) == &child);
    visit(child);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view source(reinterpret_cast<const char*>(data), size);
  for (const bool relaxed : {false, true}) {
    TreeOptions options;
    options.relaxed = relaxed;
    std::vector<DuplicateKey> duplicates;
    if (relaxed) options.duplicates = &duplicates;
    try {
      const Tree tree = parse_tree(source, options);
      visit(*tree);
      const std::string text = json(*tree);
      require(json(*parse_tree(text)) == text);
      require(json(*parse_tree(json(*tree, 2))) == text);
      if (tree->size() > 0) {
        const tenon_tree& last = *tree->at(tree->size() - 1);
        require(tree_at_pointer(*tree, pointer_of(last)) == &last);
      }
    } catch (const Error& error) {
      require(error.kind == TENON_ERROR_VALUE);
      require(is_utf8(error.message));
    }
  }
  return 0;
}
