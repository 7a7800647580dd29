// Preparing a plugin's op descriptor for calls.
#include "core/dispatch/table/op.hpp"

#include <algorithm>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/growable.hpp"
#include "core/base/interrupt.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/call/call_flags.hpp"
#include "core/dispatch/call/context.hpp"
#include "core/dispatch/call/layer.hpp"

namespace tenon::core {

namespace {

[[noreturn]] void fail(const Schema& schema, const std::string& what) {
  throw Error(TENON_ERROR_VALUE, "op '{}': {}", schema.name, what);
}

uint8_t saved_parameter(const Schema& schema, std::string_view name) {
  const int64_t index = schema.find(name);
  if (index >= 0) return static_cast<uint8_t>(index);
  Words names;
  for (const Parameter& parameter : schema.parameters) names.push_back(parameter.name);
  fail(schema, format_text("saves names {}, which is not a parameter{}", quote(name),
                           suggestion(name, names)));
}

// "other for input, input for other, result, shape(input)"
std::vector<SavedItem> parse_saves(const Schema& schema, std::string_view text) {
  std::vector<SavedItem> items;
  while (!trim_spaces(text).empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    std::string_view part = trim_spaces(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
    SavedItem item;
    if (const size_t separator = part.find(" for "); separator != std::string_view::npos) {
      item.for_parameters = 1u << saved_parameter(schema, trim_spaces(part.substr(separator + 5)));
      part = trim_spaces(part.substr(0, separator));
    }
    if (part.starts_with("result") && schema.find(part) < 0) {
      const std::string_view number = part.substr(6);
      item.kind = SavedItem::Kind::Result;
      item.index = number.empty()                           ? 0
                   : number.size() == 1 && number[0] >= '0' ? static_cast<uint8_t>(number[0] - '0')
                                                            : UINT8_MAX;
      if (item.index >= schema.returns.size())
        fail(schema, format_text("saves names '{}', which is not a result", part));
      // Gradients arrive with a list as many as it has tensors: after one the place varies.
      for (size_t r = 0; r <= item.index; ++r) {
        const SchemaType& type = schema.returns[r];
        if (r == item.index && type.kind != TypeKind::tensor && type.kind != TypeKind::any)
          fail(
              schema,
              format_text(
                  "saves names '{}', which is not a tensor but '{}': keep it with set() in forward",
                  part, type_text(type)));
        if (type.list && type.kind == TypeKind::tensor)
          fail(schema, format_text("saves names '{}', which is {}a list of tensors: keep it with "
                                   "save_for_backward in forward",
                                   part, r == item.index ? "" : "behind "));
      }
    } else {
      if (part.starts_with("shape(") && part.ends_with(")")) {
        item.kind = SavedItem::Kind::ShapeOnly;
        part = part.substr(6, part.size() - 7);
      }
      item.index = saved_parameter(schema, part);
    }
    items.push_back(item);
  }
  return items;
}

bool accepts_only_tensors(const Parameter& parameter) {
  return parameter.accept == 1u << TENON_VALUE_TENSOR;
}

bool holds_tensors(const Parameter& parameter) {
  return parameter.type.kind == TypeKind::tensor ||
         parameter.type.kind == TypeKind::tensor_or_scalar || parameter.type.kind == TypeKind::any;
}

void check_descriptor(const Schema& schema, const tenon_op_descriptor& descriptor) {
  if (schema.parameters.size() > static_cast<size_t>(kMaxParameters)) {
    fail(schema, format_text("has {} parameters; at most {} are allowed", schema.parameters.size(),
                             kMaxParameters));
  }
  if (schema.returns.size() > kMaxResults) {
    fail(schema, format_text("has {} results; at most {} are allowed, of which one may be a list",
                             schema.returns.size(), kMaxResults));
  }
  if (const auto fault = check_op(descriptor))
    fail(schema, format_text("{}; {}", fault->what, fault->remedy));
}

void prepare_parameters(Implementation& implementation) {
  const std::vector<Parameter>& parameters = implementation.schema.parameters;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Parameter& parameter = parameters[i];
    // A required parameter has no default: NONE never matches its mask, so binding reports it.
    implementation.accept[i] = parameter.accept;
    const bool out = parameter.name == "out" && parameter.keyword_only && parameter.type.mutates;
    if (out) implementation.out_parameter = static_cast<int8_t>(i);
    if (holds_tensors(parameter) && !out)
      implementation.slot_parameters = static_cast<uint32_t>(i) + 1;
    if (holds_tensors(parameter) && parameter.type.list) implementation.has_lists = true;
    if (parameter.type.list && parameter.type.length > 0) {
      // Schemas leave the tag out, so that binding sees every such list; calls check the length
      // instead.
      implementation.fixed_lists = true;
      implementation.accept[i] |= accepted_tags(parameter.type);
    }
    if (parameter.type.mutates && !out) {
      implementation.mutates = true;
      implementation.mutated_parameters |= 1u << i;
    }
  }
  if (implementation.has_lists || implementation.fixed_lists)
    implementation.call_flags |= kListsFlag;
  if (implementation.descriptor.declines != nullptr) implementation.call_flags |= kProviderFlag;
}

void prepare_results(Implementation& implementation) {
  const Schema& schema = implementation.schema;
  const std::vector<Parameter>& parameters = schema.parameters;
  for (size_t r = 0; r < schema.returns.size(); ++r) {
    const SchemaType& type = schema.returns[r];
    const bool tensor = type.kind == TypeKind::tensor && !type.list && !type.optional;
    implementation.result_tags[r] = tensor ? uint8_t{TENON_VALUE_TENSOR} : kAnyTag;
    if (schema.returns.size() == 1) implementation.result_tag = implementation.result_tags[0];
    int32_t source = -1;
    for (size_t i = 0; i < parameters.size() && type.alias != 0; ++i) {
      if (parameters[i].type.alias == type.alias) source = static_cast<int32_t>(i);
    }
    if (type.alias != 0 && source < 0)
      fail(schema, format_text("a result aliases '{}', which no parameter carries", type.alias));
    implementation.result_alias.push_back(source);
    if (source >= 0 && !parameters[static_cast<size_t>(source)].type.mutates)
      implementation.aliases = true;
  }
}

AfterRun after_run(const Implementation& implementation) {
  // The context of a Function may hold what has to be freed.
  if ((implementation.flags & TENON_OP_FUNCTION) != 0) return AfterRun::other;
  if (!implementation.updates_aliasing)
    return implementation.out_parameter >= 0 ? AfterRun::out : AfterRun::nothing;
  if (implementation.out_parameter >= 0) return AfterRun::other;
  if (implementation.viewed_parameter >= 0) return AfterRun::view;
  const int8_t returned = implementation.returned_parameter;
  return returned >= 0 && implementation.mutated_parameters == 1u << returned ? AfterRun::changed
                                                                              : AfterRun::other;
}

// An op that changes an operand runs to its end: a change that is half done would stay. Elementwise
// ops see to it themselves, where they have more elements than one thread takes.
tenon_status run_whole(void* self, tenon_context* context, const tenon_value* arguments,
                       tenon_value* results, tenon_error** error) {
  const Implementation& implementation = *context->implementation;
  const tenon_run_function run = implementation.descriptor.run;
  if (!implementation.mutates && arguments[implementation.out_parameter].tag != TENON_VALUE_TENSOR)
    return run(self, context, arguments, results, error);
  const UninterruptedGuard whole;
  return run(self, context, arguments, results, error);
}

// Notes work that the op never needs, for calls to skip.
void find_short_paths(Implementation& implementation) {
  const Schema& schema = implementation.schema;
  implementation.updates_aliasing = implementation.mutates || implementation.aliases;
  const bool one_result = schema.returns.size() == 1 && !schema.returns[0].list;
  const int32_t alias =
      one_result && !schema.returns[0].optional ? implementation.result_alias[0] : -1;
  if (alias >= 0 && accepts_only_tensors(schema.parameters[static_cast<size_t>(alias)])) {
    if (schema.parameters[static_cast<size_t>(alias)].type.mutates)
      implementation.returned_parameter = static_cast<int8_t>(alias);
    else if (!implementation.mutates)
      implementation.viewed_parameter = static_cast<int8_t>(alias);
  }
  implementation.after_run = after_run(implementation);
  implementation.fast_record =
      implementation.descriptor.differentiable == TENON_DIFFERENTIABLE_FORMULA &&
      (implementation.flags & (TENON_OP_FUNCTION | TENON_OP_ZERO_GRADIENT)) == 0 &&
      !implementation.mutates && !implementation.has_lists && one_result;
}

// Whether f16 and bf16 operands stay as they are: for composites, whose ops are converted one by
// one; to elementwise kernels, whose runner converts; to views; to what declares
// TENON_OP_ANY_DTYPE; and to overrides, which take tensors of their types.
bool takes_half(const Implementation& implementation) {
  const bool view = implementation.aliases && !implementation.mutates;
  return implementation.composite || implementation.descriptor.elementwise != nullptr || view ||
         (implementation.flags & TENON_OP_ANY_DTYPE) != 0;
}

}  // namespace

std::string node_name_for(std::string_view short_name, bool function) {
  std::string name;
  bool upper = true;
  for (const char c : short_name) {
    if (c == '_') {
      upper = true;
      continue;
    }
    name += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = false;
  }
  return name + (function ? "Backward" : "Backward0");
}

tenon_op_descriptor with_rules(const tenon_op_descriptor& op, const tenon_op_descriptor& given) {
  tenon_op_descriptor merged = copy_growable(op);
  const tenon_op_descriptor rules = copy_growable(given);
  if (merged.vjp != nullptr) merged.backward = nullptr;  // one rule, prepared under both names
  if (rules.backward != nullptr || rules.vjp != nullptr) {
    constexpr uint32_t kOfBackward =
        TENON_OP_ONCE_DIFFERENTIABLE | TENON_OP_TWICE_DIFFERENTIABLE | TENON_OP_CLEAR_SAVED;
    merged.backward = rules.backward;
    merged.vjp = rules.vjp;
    merged.differentiable = TENON_DIFFERENTIABLE_FORMULA;
    merged.flags &= ~(kOfBackward | TENON_OP_ZERO_GRADIENT);
    merged.flags |= rules.flags & kOfBackward;
    if (rules.saves != nullptr) merged.saves = rules.saves;
  }
  if (rules.jvp_kind != TENON_JVP_NONE) {
    merged.jvp_kind = rules.jvp_kind;
    merged.jvp = rules.jvp;
    merged.flags =
        (merged.flags & ~uint32_t{TENON_OP_JVP_ONCE}) | (rules.flags & TENON_OP_JVP_ONCE);
  }
  return merged;
}

std::unique_ptr<Implementation> make_implementation(const tenon_op_descriptor& given,
                                                    std::string provider) {
  auto made = std::make_unique<Implementation>();
  Implementation& implementation = *made;
  implementation.descriptor = copy_growable(given);
  const tenon_op_descriptor& descriptor = implementation.descriptor;
  if (descriptor.schema == nullptr)
    throw Error(TENON_ERROR_VALUE, "an op of '{}' has no schema", provider);
  implementation.schema = parse_schema(descriptor.schema);
  const Schema& schema = implementation.schema;
  check_descriptor(schema, descriptor);
  if (descriptor.vjp != nullptr) implementation.descriptor.backward = descriptor.vjp;
  implementation.self = descriptor.self;
  implementation.run = descriptor.run;
  implementation.parameter_count = static_cast<uint32_t>(schema.parameters.size());
  implementation.result_count = static_cast<uint32_t>(schema.returns.size());
  implementation.flags = descriptor.flags;
  implementation.composite = descriptor.differentiable == TENON_DIFFERENTIABLE_COMPOSITE;
  implementation.provider = std::move(provider);
  implementation.node_name =
      node_name_for(schema.short_name(), (descriptor.flags & TENON_OP_FUNCTION) != 0);
  prepare_parameters(implementation);
  prepare_results(implementation);
  find_short_paths(implementation);
  if (descriptor.saves != nullptr) implementation.saves = parse_saves(schema, descriptor.saves);
  for (const SavedItem& item : implementation.saves) {
    if (item.kind != SavedItem::Kind::Result) implementation.saved_parameters |= 1u << item.index;
  }
  if (descriptor.elementwise != nullptr)
    higher_areas.prepare_elementwise(implementation);
  else if (implementation.mutates || implementation.out_parameter >= 0)
    implementation.run = run_whole;
  implementation.takes_half = takes_half(implementation);
  return made;
}

}  // namespace tenon::core
