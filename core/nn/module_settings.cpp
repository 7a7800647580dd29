// Initialization, state, dtype and frozen parameters of a module from a document.
#include "core/nn/module_settings.hpp"

#include <array>
#include <filesystem>
#include <string>

#include "core/autograd/engine/grad.hpp"
#include "core/autograd/graph/history.hpp"
#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/json.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/binding/arguments.hpp"
#include "core/dispatch/call/call.hpp"
#include "core/dispatch/table/registry.hpp"
#include "core/nn/state.hpp"
#include "core/nn/walk.hpp"

namespace tenon::core {

namespace {

// Members of a document as keyword arguments.
struct Keywords {
  std::vector<tenon_string> names;
  std::vector<tenon_value> values;

  void add(std::string_view name, const tenon_json& value) {
    names.push_back({name.data(), static_cast<int64_t>(name.size())});
    values.push_back(json_value(value));
  }
};

// ---- "init" ----

// An op that changes its first argument, and keywords for it.
struct InitOp {
  const tenon_op* op = nullptr;
  Keywords keywords;

  InitOp(const tenon_json& choice, const Registry& ops) {
    const tenon_json* type = choice.is_object() ? choice.find("type") : &choice;
    if (type == nullptr || !type->is_string())
      throw Error(TENON_ERROR_VALUE,
                  "found {}, expected the name of an op, or an object with a \"type\" and the op's "
                  "keywords",
                  dump(choice));
    op = ops.require(type->as_string());
    if ((require_implementation(op).mutated_parameters & 1u) == 0)
      throw Error(TENON_ERROR_VALUE,
                  "op '{}' does not change its first argument in place; an init op is one that "
                  "does, such as nn.init.xavier_uniform_",
                  op->name);
    if (!choice.is_object()) return;
    for (const tenon_json& member : choice.children()) {
      if (&member != type) keywords.add(member.key(), member);
    }
  }

  void run(Tensor& parameter) const {
    const tenon_value operand = tensor_value(&parameter);
    tenon_value results[kMaxResults] = {};
    tenon_error* error = nullptr;
    const tenon_status status =
        call_op_keywords(op, {&operand, 1}, keywords.names, keywords.values, results, &error);
    if (status != TENON_OK) throw_status(status, error);
    for (tenon_value& result : results) release_value(result);
  }
};

void initialize(tenon_module& module, const tenon_json& setting, const Registry& ops) {
  if (!setting.is_object())
    throw Error(TENON_ERROR_VALUE,
                "\"init\" is an object of init ops by the names of parameters, where '*' stands "
                "for any text, found {}",
                dump(setting));
  const GradModeGuard no_grad(false);
  const std::vector<WalkItem> parameters = walk(module, Walk::Parameters, {.duplicates = true});
  for (const tenon_json& member : setting.children()) {
    const InitOp op(member, ops);
    bool found = false;
    for (const WalkItem& item : parameters) {
      if (!matches_pattern(member.key(), item.name)) continue;
      found = true;
      op.run(*item.tensor);
    }
    if (found) continue;
    std::string names;
    for (const WalkItem& item : parameters) names += (names.empty() ? "" : ", ") + item.name;
    throw Error(TENON_ERROR_VALUE, "no parameter of {} fits {}; it has {}",
                module.type->short_name(), quote(member.key()), names.empty() ? "none" : names);
  }
}

// ---- "load" ----

void load(tenon_module& module, const tenon_json& setting, const Registry&) {
  static const Schema schema = parse_schema("load(str file, str prefix='', bool strict=True)");
  Keywords keywords;
  if (!setting.is_object()) keywords.add("file", setting);
  for (const tenon_json& member :
       setting.is_object() ? setting.children() : std::span<const tenon_json>())
    keywords.add(member.key(), member);
  BoundArguments bound;
  bind_arguments(schema, {}, keywords.names, keywords.values, bound);
  const auto text = [&](size_t index) {
    return std::string(bound.values[index].as.string, bound.values[index].length);
  };
  std::filesystem::path file(text(0));
  if (file.is_relative()) file = std::filesystem::path(setting.source()).parent_path() / file;
  const bool strict = bound.values[2].as.integer != 0;
  const bool shapes_only = thread_state.multiply_adds != nullptr;
  load_module(
      module, file.string(),
      (strict ? uint32_t{TENON_LOAD_STRICT} : 0) | (shapes_only ? uint32_t{TENON_LOAD_ASSIGN} : 0),
      text(1));
}

// ---- "dtype", "frozen" ----

tenon_value bind_setting(const Schema& schema, const tenon_json& setting, BoundArguments& bound) {
  return bind_argument(schema, 0, json_value(setting), bound);
}

void set_dtype(tenon_module& module, const tenon_json& setting, const Registry&) {
  static const Schema schema = parse_schema("module(dtype dtype)");
  BoundArguments bound;
  convert(module, static_cast<tenon_dtype>(bind_setting(schema, setting, bound).as.integer));
}

void freeze(tenon_module& module, const tenon_json& setting, const Registry&) {
  static const Schema schema = parse_schema("module(bool frozen)");
  BoundArguments bound;
  if (bind_setting(schema, setting, bound).as.integer == 0) return;
  for (const WalkItem& item : walk(module, Walk::Parameters, {.names = false}))
    set_requires_grad(*item.tensor, false);
}

struct Setting {
  std::string_view key;
  void (*apply)(tenon_module& module, const tenon_json& setting, const Registry& ops);
};
// In the order in which they are applied.
constexpr std::array<Setting, 4> kSettings{
    {{"init", initialize}, {"load", load}, {"dtype", set_dtype}, {"frozen", freeze}}};

}  // namespace

bool is_module_setting(const ModuleType& type, std::string_view key) {
  if (type.schema.find(key) >= 0) return false;
  for (const Setting& setting : kSettings) {
    if (setting.key == key) return true;
  }
  return false;
}

std::vector<const tenon_json*> module_settings(const ModuleType& type, const tenon_json& document) {
  std::vector<const tenon_json*> settings;
  for (const Setting& setting : kSettings) {
    const tenon_json* node = document.is_object() ? document.find(setting.key) : nullptr;
    if (node != nullptr && is_module_setting(type, setting.key)) settings.push_back(node);
  }
  return settings;
}

void apply_module_setting(tenon_module& module, const tenon_json& given, const Registry& ops) {
  for (const Setting& setting : kSettings) {
    if (setting.key == given.key()) setting.apply(module, given, ops);
  }
}

}  // namespace tenon::core
