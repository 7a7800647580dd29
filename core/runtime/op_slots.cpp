// The host's slots on ops and their registered overrides.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "core/base/text.hpp"
#include "core/dispatch/binding/bound_call.hpp"
#include "core/dispatch/binding/value.hpp"
#include "core/dispatch/call/call.hpp"
#include "core/dispatch/call/running_calls.hpp"
#include "core/dispatch/call/trace.hpp"
#include "core/dispatch/table/registry.hpp"
#include "core/dispatch/types/chain.hpp"
#include "core/dispatch/types/type_table.hpp"
#include "core/kernel/elementwise.hpp"
#include "core/runtime/explain.hpp"
#include "core/runtime/runtime.hpp"
#include "core/runtime/slots.hpp"

namespace tenon::core {

int64_t parameter_place(const Schema& schema, std::string_view name) {
  std::vector<std::string_view> names;
  for (const Parameter& parameter : schema.parameters) {
    if (parameter.name == name) return static_cast<int64_t>(names.size());
    names.push_back(parameter.name);
  }
  throw Error(TENON_ERROR_INDEX, "'{}' has no parameter {}{}", schema.name, quote(name),
              suggestion(name, names));
}

namespace {

tenon_status op_find(const char* name, int64_t length, const tenon_op** op, tenon_error** error) {
  return guarded(error, [&] {
    plugin_manager();
    *op = Registry::process().require({name, static_cast<size_t>(length)});
  });
}
const char* op_name(const tenon_op* op) { return op->name.c_str(); }
tenon_status op_bind_attributes(const tenon_op* op, const tenon_string* keywords,
                                const tenon_value* keyword_values, int64_t keyword_count,
                                int64_t* positional, tenon_value* names, tenon_value* values,
                                tenon_error** error) {
  return guarded(error, [&] {
    const OuterCall running;
    const Schema& schema = require_implementation(op).schema;
    Schema attributes;
    attributes.name = schema.name;
    std::vector<std::string> texts;
    for (const Parameter& parameter : schema.parameters) {
      if (!parameter.keyword_only) continue;
      attributes.parameters.push_back(parameter);
      texts.push_back(parameter.name);
    }
    BoundArguments bound;
    bind_arguments(attributes,
                   {{},
                    {keywords, static_cast<size_t>(keyword_count)},
                    {keyword_values, static_cast<size_t>(keyword_count)}},
                   bound);
    *positional = schema.positional_count;
    std::vector<tenon_value> given;
    try {
      for (size_t i = 0; i < texts.size(); ++i) given.push_back(copy_value(bound.values[i]));
      *names = make_string_list(texts);
    } catch (...) {
      for (tenon_value& value : given) release_value(value);
      throw;
    }
    std::copy(given.begin(), given.end(), values);
  });
}
tenon_status op_bind(const tenon_op* op, const tenon_value* arguments, int64_t count,
                     const tenon_string* keywords, const tenon_value* keyword_values,
                     int64_t keyword_count, tenon_error** error) {
  return guarded(error, [&] {
    const OuterCall running;
    const Implementation& implementation = require_implementation(op);
    BoundArguments bound;
    const std::span<const tenon_value> values(arguments, static_cast<size_t>(count));
    const auto named = static_cast<size_t>(keyword_count);
    const OrderedArguments ordered(implementation, values);
    bind_call(implementation,
              named == 0 ? ordered.written()
                         : AsWritten{values, {keywords, named}, {keyword_values, named}},
              bound);
  });
}
tenon_status op_explain(const tenon_op* op, const tenon_value* arguments, int64_t count,
                        const tenon_string* keywords, const tenon_value* keyword_values,
                        int64_t keyword_count, tenon_json** document, tenon_error** error) {
  return guarded(error, [&] {
    plugin_manager();
    const OuterCall running;
    *document = explain_call(op, {arguments, static_cast<size_t>(count)},
                             {keywords, static_cast<size_t>(keyword_count)},
                             {keyword_values, static_cast<size_t>(keyword_count)})
                    .give();
  });
}
tenon_status op_explain_types(const tenon_op* op, const tenon_written_argument* arguments,
                              int64_t count, tenon_json** document, tenon_error** error) {
  return guarded(error, [&] {
    plugin_manager();
    const OuterCall running;
    *document = explain_call(op, {arguments, static_cast<size_t>(count)}).give();
  });
}
tenon_status op_call_keywords(const tenon_op* op, const tenon_value* arguments, int64_t count,
                              const tenon_string* keywords, const tenon_value* keyword_values,
                              int64_t keyword_count, tenon_value* results, tenon_error** error) {
  return call_op_keywords(op,
                          {{arguments, static_cast<size_t>(count)},
                           {keywords, static_cast<size_t>(keyword_count)},
                           {keyword_values, static_cast<size_t>(keyword_count)}},
                          results, error);
}
int64_t op_result_count(const tenon_op* op) {
  const OuterCall running;
  const Implementation* implementation = op->implementation.load(std::memory_order_acquire);
  return implementation == nullptr ? 0 : implementation->result_count;
}
int32_t op_returns_tuple(const tenon_op* op) {
  const OuterCall running;
  const Implementation* implementation = op->implementation.load(std::memory_order_acquire);
  return implementation != nullptr && implementation->schema.returns_tuple ? 1 : 0;
}

tenon_status op_schema(const tenon_op* op, tenon_value* schema, tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(op, "the op");
    const OuterCall running;
    const Implementation* implementation = op->implementation.load(std::memory_order_acquire);
    *schema = make_string(implementation == nullptr ? "" : implementation->schema.text);
  });
}

tenon_status op_parameter(const tenon_op* op, const char* name, int64_t length, int64_t* index,
                          tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(op, "the op");
    const OuterCall running;
    const Implementation* implementation = op->implementation.load(std::memory_order_acquire);
    require_not_null(implementation, "the implementation of the op");
    *index = parameter_place(implementation->schema, {name, static_cast<size_t>(length)});
  });
}

const Override& override_of(const tenon_override* entry) {
  return *reinterpret_cast<const Override*>(entry);
}
tenon_status override_find(const char* key, const char* provider, const tenon_override** entry,
                           tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(key, "the key of an override");
    plugin_manager();
    *entry = reinterpret_cast<const tenon_override*>(
        &find_override(TypeTable::process(), key, provider == nullptr ? "" : provider));
  });
}
const char* override_provider(const tenon_override* entry) {
  return override_of(entry).provider.c_str();
}
tenon_status override_call(const tenon_override* entry, const tenon_value* arguments, int64_t count,
                           const tenon_string* keywords, const tenon_value* keyword_values,
                           int64_t keyword_count, tenon_value* results, tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(entry, "the override");
    const OuterCall running;
    const Override& found = override_of(entry);
    if (found.withdrawn)
      throw Error(TENON_ERROR_PLUGIN,
                  "stale handle: override {} is provided by plugin '{}', which was unloaded or "
                  "reloaded; find the override again",
                  found.key(), found.provider);
    call_override(found,
                  {{arguments, static_cast<size_t>(count)},
                   {keywords, static_cast<size_t>(keyword_count)},
                   {keyword_values, static_cast<size_t>(keyword_count)}},
                  results);
  });
}
void override_disable(const tenon_override* entry) {
  if (entry == nullptr) return;
  const Override& found = override_of(entry);
  TypeTable::process().switch_off(found);
  if (found.is_gradient_override())
    guarded(nullptr, [&] { refresh_active_rules(found.schema.name); });
}
void override_enable(const tenon_override* entry) {
  if (entry == nullptr) return;
  const Override& found = override_of(entry);
  TypeTable::process().switch_on(found);
  if (found.is_gradient_override())
    guarded(nullptr, [&] { refresh_active_rules(found.schema.name); });
}
int32_t override_enabled(const tenon_override* entry) {
  return entry != nullptr && override_of(entry).enabled() ? 1 : 0;
}

}  // namespace

void add_op_slots(Services& services) {
  services.ops.find = op_find;
  services.ops.name = op_name;
  services.ops.call = call_op;
  services.ops.call_keywords = op_call_keywords;
  services.ops.result_count = op_result_count;
  services.ops.bind_attributes = op_bind_attributes;
  services.ops.bind = op_bind;
  services.ops.explain = op_explain;
  services.ops.explain_types = op_explain_types;
  services.ops.schema = op_schema;
  services.types.override_find = override_find;
  services.types.override_provider = override_provider;
  services.types.override_call = override_call;
  services.types.override_disable = override_disable;
  services.types.override_enable = override_enable;
  services.types.override_enabled = override_enabled;
  services.ops.call_filled = call_op_filled;
  services.ops.returns_tuple = op_returns_tuple;
  services.ops.parameter = op_parameter;
  // Calls of any thread come through here.
  if (!process_is_traced()) return;
  services.ops.call = [](const tenon_op* op, const tenon_value* arguments, int64_t count,
                         tenon_value* results, tenon_error** error) {
    join_process_trace();
    return call_op(op, arguments, count, results, error);
  };
  services.ops.call_filled = [](const tenon_op* op, const tenon_value* arguments, int64_t count,
                                tenon_value* results, tenon_error** error) {
    join_process_trace();
    return call_op_filled(op, arguments, count, results, error);
  };
  services.ops.call_keywords = [](const tenon_op* op, const tenon_value* arguments, int64_t count,
                                  const tenon_string* keywords, const tenon_value* keyword_values,
                                  int64_t keyword_count, tenon_value* results,
                                  tenon_error** error) {
    join_process_trace();
    return op_call_keywords(op, arguments, count, keywords, keyword_values, keyword_count, results,
                            error);
  };
}

}  // namespace tenon::core
