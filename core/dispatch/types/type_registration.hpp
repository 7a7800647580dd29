// The types and overrides of one plugin on their way into the table: checked, built, compared with
// what is there.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/text.hpp"
#include "core/dispatch/types/type_table.hpp"

namespace tenon::core {

// Reads the table, whose lock the caller holds, and changes nothing in it. Every function throws
// ValueError for what is wrong in itself, PluginError for what contradicts another plugin.
class TypeRegistration {
 public:
  TypeRegistration(const TypeTable& table, const std::string& provider,
                   const TypeTable::OpOf& op_of, TypeTable::Place place)
      : table_(table), provider_(provider), op_of_(op_of), place_(place) {}

  // `all`: the plugin's types, for messages.
  void add_type(const tenon_type_descriptor& given,
                std::span<const tenon_type_descriptor* const> all);
  void add_override(const tenon_override_descriptor& given);
  // What is allowed and seldom intended becomes a warning, or an error of a strict config:
  // overrides of foreign ops for foreign types, and overrides between which nothing decides.
  TypeTable::Prepared finish(const TypeTable::RegistrationPolicy& policy);

 private:
  // ---- a type; `what` names it in messages ----
  void check_name(const TensorType& type, const std::string& what) const;
  void inherit(TensorType& type, const std::string& what,
               std::span<const tenon_type_descriptor* const> all) const;
  static void check_parts(const TensorType& type, const std::string& what);
  static void check_fallback(const TensorType& type, const std::string& what);

  // ---- an override ----
  void read_rules(Override& entry, const std::string& what) const;
  void read_types(Override& entry, const std::string& what) const;
  void add_types(const char* names, std::vector<const TensorType*>& list, Override& entry,
                 const std::string& what) const;
  void compare_with_op(Override& entry, const std::string& what) const;
  void check_conflict(const Override& entry, const Override& other, const std::string& what) const;

  // ---- the plugin as a whole ----
  void warn_of_foreign();
  void warn_of_ambiguities(const TypeTable::RegistrationPolicy& policy);

  const TensorType* find_type(std::string_view name) const;
  // Of the code that this takes the place of.
  bool is_replaced(const PluginCode* code) const {
    return code != nullptr && code == place_.replaced;
  }
  Words known_types() const;

  const TypeTable& table_;
  const std::string& provider_;
  const TypeTable::OpOf& op_of_;
  const TypeTable::Place place_;
  TypeTable::Prepared prepared_;
  std::unordered_map<std::string_view, const TensorType*> own_types_;
  std::map<std::pair<std::string_view, std::vector<const TensorType*>>, const Override*>
      own_overrides_;
};

}  // namespace tenon::core
