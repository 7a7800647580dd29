// The process's runtime: the op table, the module table and the plugins that fill them; and what its slots
// say about calls, names and values.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json.hpp"
#include "core/dispatch/table/op.hpp"
#include "core/dispatch/types/type_table.hpp"
#include "core/plugin/plugin_manager.hpp"
#include "core/runtime/table_registrar.hpp"
#include "core/tensor/tensor.hpp"
#include "tenon/abi/service/ops.h"
#include "tenon/abi/value.h"

struct tenon_host;

namespace tenon::core {

// The one host of the process. Never changes.
const tenon_host& host_table() noexcept;

// The process's tables and the manager of its plugins: made by runtime/assembly.cpp at their first
// use, alive until the process ends.
Tables process_tables();
PluginManager& plugin_manager();
// Before names are looked up in the tables: the plugins that declare them are known from now on.
void index_plugins();

// The runtime that documents are made of: the process's, or a test's.
struct Runtime {
  Tables tables;
  PluginManager& manager;
};
Runtime process_runtime();

// ---- accounts of calls ----

// The account of a call with these arguments, as it would be made now on this thread. Runs nothing.
// sdk/share/tenon/documents.md has the shape.
Json explain_call(const tenon_op* op, std::span<const tenon_value> positional,
                  std::span<const tenon_string> keywords,
                  std::span<const tenon_value> keyword_values);

// The account of a call whose operands are known by their types: the slot explain_types.
Json explain_call(const tenon_op* op, std::span<const tenon_written_argument> arguments);

// ---- names that no plugin declares, and types that answer for few ops ----

// Throws ValueError: with the full name of which `name` is the last part, what else carries it, or a
// similar name; the folders that were searched, and the plugins that were refused.
[[noreturn]] void throw_unknown(PluginManager& manager, ItemKind kind, std::string_view name);

// One line for each type among these, just registered, that answers for some ops alone and is not
// marked partial: "type ScalarTensor handles 2 of 187 overridable ops; ...". Counts from facts.
std::vector<std::string> partial_type_warnings(const ResolvedLoad& load, const Runtime& runtime);

// ---- values as they are printed ----

// None, True, 2, 0.4, 'text', float32, tensor(1.), [1, 2].
std::string value_text(const tenon_value& value);

// A tensor by the text form of its type; else as the host prints it. Never re-enters dispatch: what
// a type's text calls sees plain tensors, unrecorded.
std::string typed_text(const Tensor* tensor);

}  // namespace tenon::core
