// Service ops: finding, binding, explaining and calling them.
#include <algorithm>
#include <string>
#include <vector>

#include "core/base/text.hpp"
#include "core/dispatch/binding/bound_call.hpp"
#include "core/dispatch/binding/value.hpp"
#include "core/dispatch/call/call.hpp"
#include "core/dispatch/call/running_calls.hpp"
#include "core/dispatch/call/trace.hpp"
#include "core/dispatch/table/registry.hpp"
#include "core/dispatch/types/type_table.hpp"
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

// The active implementation, null once its plugin is unloaded. Within a running call it stays.
const Implementation* implementation_of(const tenon_op* op) {
  return op->implementation.load(std::memory_order_acquire);
}

tenon_status call_keywords(const tenon_op* op, const tenon_value* arguments, int64_t count,
                           const tenon_string* keywords, const tenon_value* keyword_values,
                           int64_t keyword_count, tenon_value* results, tenon_error** error) {
  return call_op_keywords(op,
                          {span_of(arguments, count), span_of(keywords, keyword_count),
                           span_of(keyword_values, keyword_count)},
                          results, error);
}

// Binds keyword-only parameters alone.
void bind_attributes(const Schema& schema, std::span<const tenon_string> keywords,
                     std::span<const tenon_value> keyword_values, tenon_value* names,
                     tenon_value* values) {
  Schema attributes;
  attributes.name = schema.name;
  std::vector<std::string> texts;
  for (const Parameter& parameter : schema.parameters) {
    if (!parameter.keyword_only) continue;
    attributes.parameters.push_back(parameter);
    texts.push_back(parameter.name);
  }
  BoundArguments bound;
  bind_arguments(attributes, {{}, keywords, keyword_values}, bound);
  std::vector<tenon_value> given;
  try {
    for (size_t i = 0; i < texts.size(); ++i) given.push_back(copy_value(bound.values[i]));
    *names = make_string_list(texts);
  } catch (...) {
    for (tenon_value& value : given) release_value(value);
    throw;
  }
  std::copy(given.begin(), given.end(), values);
}

}  // namespace

constinit const tenon_ops_service ops_service{
    .head = {},
    .find = slot([](const char* name, int64_t length) {
      index_plugins();
      return Registry::process().require({name, static_cast<size_t>(length)});
    }),
    .name = [](const tenon_op* op) { return op->name.c_str(); },
    .call = call_op,
    .call_filled = call_op_filled,
    .call_keywords = call_keywords,
    .bind = slot([](const tenon_op* op, const tenon_value* arguments, int64_t count,
                    const tenon_string* keywords, const tenon_value* keyword_values,
                    int64_t keyword_count) {
      const OuterCall running;
      const Implementation& implementation = require_implementation(op);
      BoundArguments bound;
      const OrderedArguments ordered(implementation, span_of(arguments, count));
      bind_call(implementation,
                keyword_count == 0
                    ? ordered.written()
                    : AsWritten{span_of(arguments, count), span_of(keywords, keyword_count),
                                span_of(keyword_values, keyword_count)},
                bound);
    }),
    .bind_attributes = slot([](const tenon_op* op, const tenon_string* keywords,
                               const tenon_value* keyword_values, int64_t keyword_count,
                               int64_t* positional, tenon_value* names, tenon_value* values) {
      const OuterCall running;
      const Schema& schema = require_implementation(op).schema;
      bind_attributes(schema, span_of(keywords, keyword_count),
                      span_of(keyword_values, keyword_count), names, values);
      *positional = schema.positional_count;
    }),
    .result_count = [](const tenon_op* op) -> int64_t {
      const OuterCall running;
      const Implementation* implementation = implementation_of(op);
      return implementation == nullptr ? 0 : implementation->result_count;
    },
    .returns_tuple = [](const tenon_op* op) -> int32_t {
      const OuterCall running;
      const Implementation* implementation = implementation_of(op);
      return implementation != nullptr && implementation->schema.returns_tuple ? 1 : 0;
    },
    .parameter = slot([](const tenon_op* op, const char* name, int64_t length) {
      require_not_null(op, "the op");
      const OuterCall running;
      const Implementation* implementation = implementation_of(op);
      require_not_null(implementation, "the implementation of the op");
      return parameter_place(implementation->schema, {name, static_cast<size_t>(length)});
    }),
    .schema = slot([](const tenon_op* op) {
      require_not_null(op, "the op");
      const OuterCall running;
      const Implementation* implementation = implementation_of(op);
      return implementation == nullptr ? std::string() : implementation->schema.text;
    }),
    .explain = slot([](const tenon_op* op, const tenon_value* arguments, int64_t count,
                       const tenon_string* keywords, const tenon_value* keyword_values,
                       int64_t keyword_count) {
      index_plugins();
      const OuterCall running;
      return explain_call(op, span_of(arguments, count), span_of(keywords, keyword_count),
                          span_of(keyword_values, keyword_count));
    }),
    .explain_types =
        slot([](const tenon_op* op, const tenon_written_argument* arguments, int64_t count) {
          index_plugins();
          const OuterCall running;
          return explain_call(op, span_of(arguments, count));
        }),
    .call_method = call_op_method,
    .call_operator = call_op_operator,
};

template <auto kCall>
static tenon_status call_traced(const tenon_op* op, const tenon_value* arguments, int64_t count,
                                tenon_value* results, tenon_error** error) {
  join_process_trace();
  return kCall(op, arguments, count, results, error);
}

void trace_calls(tenon_ops_service& ops) {
  ops.call = call_traced<call_op>;
  ops.call_filled = call_traced<call_op_filled>;
  ops.call_method = call_traced<call_op_method>;
  ops.call_operator = call_traced<call_op_operator>;
  ops.call_keywords = [](const tenon_op* op, const tenon_value* arguments, int64_t count,
                         const tenon_string* keywords, const tenon_value* keyword_values,
                         int64_t keyword_count, tenon_value* results, tenon_error** error) {
    join_process_trace();
    return call_keywords(op, arguments, count, keywords, keyword_values, keyword_count, results,
                         error);
  };
}

}  // namespace tenon::core
