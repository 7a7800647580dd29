// Registers a plugin's types, into any table: for the tests of types, overrides and plans.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "core/base/error.hpp"
#include "core/dispatch/types/type_table.hpp"

namespace tenon::core::test {

inline constexpr const char* kAddSchema = "add(Tensor a, Tensor b) -> Tensor";

inline tenon_status answer(void*, const tenon_call*, tenon_value*, tenon_error**) {
  return TENON_OK;
}

// Types and overrides of one plugin.
struct Plugin {
  std::string name;
  std::deque<tenon_type_descriptor> types;
  std::deque<tenon_override_descriptor> overrides;

  tenon_type_descriptor& type(const char* type_name, const char* parent = nullptr) {
    tenon_type_descriptor& made = types.emplace_back();
    made.size = sizeof(made);
    made.name = type_name;
    made.parent = parent;
    return made;
  }
  tenon_override_descriptor& entry(const char* names, const char* schema = kAddSchema) {
    tenon_override_descriptor& made = overrides.emplace_back();
    made.size = sizeof(made);
    made.schema = schema;
    made.types = names;
    made.run = answer;
    return made;
  }
  TypeTable::Prepared prepare(const TypeTable& table,
                              const TypeTable::RegistrationPolicy& policy = {}) const {
    std::vector<const tenon_type_descriptor*> type_list;
    for (const auto& made : types) type_list.push_back(&made);
    std::vector<const tenon_override_descriptor*> override_list;
    for (const auto& made : overrides) override_list.push_back(&made);
    return table.prepare(name, type_list, override_list,
                         [](std::string_view op) {
                           return op == "add"
                                      ? TypeTable::OpSource{kAddSchema, "math"}
                                      : TypeTable::OpSource{"", "", " (did you mean 'add'?)"};
                         },
                         policy, {});
  }
  void commit(TypeTable& table) const { table.commit(prepare(table)); }
  std::string refusal(const TypeTable& table,
                      const TypeTable::RegistrationPolicy& policy = {}) const {
    try {
      prepare(table, policy);
    } catch (const Error& error) {
      return error.message;
    }
    return "";
  }
};

inline void check_has(const std::string& text, const std::string& part) {
  INFO(text);
  CHECK(text.find(part) != std::string::npos);
}

}  // namespace tenon::core::test
