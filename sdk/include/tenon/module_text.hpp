// The printed tree of a module:
//
//   Sequential(
//     (0): Linear(in_features=2, out_features=1, bias=True)
//   )
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tenon/module.hpp"

TENON_NAMESPACE_BEGIN

namespace detail {

// A module whose children are printed, and the next of them.
struct PrintedModule {
  std::vector<std::pair<std::string, Module>> children;
  size_t next;
};

}  // namespace detail

inline std::string Module::text() const {
  std::string text;
  std::vector<detail::PrintedModule> open;
  const auto new_line = [&](size_t depth) { (text += '\n').append(2 * depth, ' '); };
  const auto print = [&](const Module& module) {
    Value own;
    tenon_value value{};
    value.tag = TENON_VALUE_MODULE;
    value.as.module = module.handle();
    detail::check(service::values().text, static_cast<const tenon_value*>(&value), own.slot());
    const std::string line = own.text();  // Type(what it prints of itself)
    auto children = module.named<Module>(2 | TENON_WALK_ABSENT, false, false);
    const size_t inside = line.find('(') + 1;
    text.append(line, 0, inside);
    if (!children.empty() && inside + 1 < line.size()) new_line(open.size() + 1);
    for (const char c : line.substr(inside, line.size() - inside - 1)) {
      if (c == '\n')
        new_line(open.size());
      else
        text += c;
    }
    if (children.empty())
      text += ')';
    else
      open.push_back({std::move(children), 0});
  };
  required();
  print(*this);
  while (!open.empty()) {
    detail::PrintedModule& parent = open.back();
    if (parent.next == parent.children.size()) {
      open.pop_back();
      new_line(open.size());
      text += ')';
      continue;
    }
    const auto [name, child] = parent.children[parent.next++];
    new_line(open.size());
    text += "(" + name + "): ";
    if (child.defined())
      print(child);
    else
      text += "None";
  }
  return text;
}

TENON_NAMESPACE_END
