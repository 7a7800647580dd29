// The account of a call that is described instead of run: bound by the code of calls, and explained
// by each layer (dispatch/call/explanation.hpp). Libraries add what plugins declare about the call.
#include <list>
#include <optional>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/dispatch/binding/bound_call.hpp"
#include "core/dispatch/binding/value.hpp"
#include "core/dispatch/call/call.hpp"
#include "core/dispatch/call/explanation.hpp"
#include "core/dispatch/table/registry.hpp"
#include "core/dispatch/types/type_table.hpp"
#include "core/kernel/elementwise.hpp"
#include "core/runtime/documents.hpp"
#include "core/runtime/runtime.hpp"
#include "core/tensor/dtype.hpp"

namespace tenon::core {

namespace {

// A call as it is made.
struct GivenCall {
  AsWritten written;
  bool by_types = false;
  bool with_dtypes = true;  // dtypes of operands say anything
};

std::string_view view_of(const tenon_string& text) {
  return {text.data, static_cast<size_t>(text.length)};
}

class Account {
 public:
  Account(const Implementation& implementation, const GivenCall& call)
      : first_(implementation),
        schema_(implementation.schema),
        call_(call),
        explained_{.types = TypeTable::process(), .implementation = &implementation} {}

  Json make() {
    json_.begin_object()
        .member("op", schema_.name)
        .member("signature", signature_text(schema_))
        .member("provider", first_.provider);
    if (attempt("binding", [&] { bind(); })) {
      put_bound();
      walk();
      put_walk();
    } else {
      put_unbound();
    }
    if (refused_by_ != nullptr) {
      json_.member("error", refusal_->message)
          .member("kind", error_kind_text(refusal_->kind))
          .member("refused_by", refused_by_);
      put_text(json_, "suggestion", explained_.suggestion);
    }
    return json_.end_object().finish();
  }

 private:
  template <class Check>
  bool attempt(const char* step, Check&& check) {
    try {
      check();
      return true;
    } catch (const Error& error) {
      refusal_ = error;
      refused_by_ = step;
      return false;
    }
  }

  void bind() {
    explained_.by_types = call_.by_types;
    explained_.arguments = bound_.values;
    explained_.flags = bind_call(first_, call_.written, bound_);
    if ((explained_.flags & TENON_TENSOR_TYPED) == 0) {
      explained_.operands = gather_types(first_, bound_.values);
      return;
    }
    Carried carried;
    explained_.operands = gather_types(first_, bound_.values, carried);
    explained_.flags |= carried.flags;
  }

  // Has each layer explain what it would do, as far as the call would get.
  void walk() {
    for (const Layer& layer : layers) {
      const char* const step = explained_.runs_own() ? "op" : "types";
      if (!attempt(step, [&] { layer.explain(explained_); })) return;
    }
  }

  // ---- arguments ----

  // Begins an argument; its place is 0 where it has none.
  void begin_argument(std::string_view name, size_t place, const char* given,
                      const std::string& value) {
    json_.begin_object();
    if (!name.empty()) json_.member("name", name);
    if (place != 0) json_.member("position", place);
    json_.member("given", given).member("value", value);
  }

  void put_bound() {
    json_.key("arguments").begin_array();
    for (size_t i = 0; i < schema_.parameters.size(); ++i) {
      const Parameter& parameter = schema_.parameters[i];
      const tenon_value* value = nullptr;
      for (size_t k = 0; k < call_.written.keywords.size(); ++k) {
        if (parameter.name == view_of(call_.written.keywords[k]))
          value = &call_.written.keyword_values[k];
      }
      const char* const given = i < call_.written.positional.size() ? "position"
                                : value != nullptr                  ? "keyword"
                                                                    : "default";
      if (i < call_.written.positional.size()) value = &call_.written.positional[i];
      begin_argument(parameter.name, i + 1, given,
                     value == nullptr ? parameter.default_value.text : brief_text(*value));
      if (value != nullptr && value->tag != bound_.values[i].tag) {
        json_.member("converted", format_text("{} to {}", value_type_text(*value),
                                              value_type_text(bound_.values[i])));
      }
      json_.end_object();
    }
    json_.end_array();
  }

  void put_unbound() {
    json_.key("arguments").begin_array();
    for (const tenon_value& value : call_.written.positional) {
      begin_argument("", 0, "position", brief_text(value));
      json_.end_object();
    }
    for (size_t k = 0; k < call_.written.keywords.size(); ++k) {
      begin_argument(view_of(call_.written.keywords[k]), 0, "keyword",
                     brief_text(call_.written.keyword_values[k]));
      json_.end_object();
    }
    json_.end_array();
  }

  // ---- the walk ----

  void put_walk() {
    std::vector<std::string> types;
    for (const TensorType* type : explained_.operands) types.push_back(type->name);
    if (explained_.operands.plain) types.push_back(explained_.types.tensor().name);
    put_texts(json_, "types", types);
    put_texts(json_, "modes", explained_.modes);
    put_texts(json_, "modes_below", explained_.modes_below);
    if (explained_.plan) {
      put_texts(json_, "order", explained_.plan->dispatching,
                [&](uint32_t type) { return explained_.types.at(type).name; });
    }
    put_list(json_, "steps", explained_.steps,
             [&](const Explanation::Step& step) { put_step(step); });
    if (explained_.declined) {
      put_list(json_, "declined", *explained_.declined, [&](const DeclinedCall& one) {
        json_.begin_object()
            .member("plugin", one.provider)
            .member("reason", one.reason)
            .end_object();
      });
    }
    if (refused_by_ != nullptr) return;
    const Implementation& last = *explained_.implementation;
    json_.key("implementation")
        .begin_object()
        .member("provider", last.provider)
        .member("may_decline", last.descriptor.declines != nullptr)
        .end_object();
    if (!explained_.first_mode.empty()) put_handling("answer", {explained_.first_mode, ""});
    put_handling(explained_.first_mode.empty() ? "answer" : "then", *explained_.handling);
    if (explained_.runs_own()) put_kernel();
    json_.member("gradient", explained_.gradient);
  }

  void put_step(const Explanation::Step& step) {
    json_.begin_object();
    put_text(json_, "type", step.type);
    json_.member("what", step.what);
    put_text(json_, "provider", step.provider);
    json_.member("asked", step.reason.empty());
    put_text(json_, "reason", step.reason);
    json_.end_object();
  }

  void put_handling(const char* key, const Explanation::Handling& handling) {
    json_.key(key).begin_object().member("what", handling.what);
    put_text(json_, "provider", handling.provider);
    json_.end_object();
  }

  void put_kernel() {
    json_.key("kernel").begin_object().member("device", "cpu");
    if (explained_.kernel && call_.with_dtypes) {
      json_.member("compute", dtype_text(explained_.kernel->compute))
          .member("result", dtype_text(explained_.kernel->result));
    }
    if (explained_.kernel) json_.member("isa", isa_text(explained_.kernel->isa));
    json_.end_object();
  }

  const Implementation& first_;
  const Schema& schema_;
  const GivenCall& call_;
  BoundArguments bound_;
  Explanation explained_;
  std::optional<Error> refusal_;
  const char* refused_by_ = nullptr;  // step of the call
  JsonBuilder json_;
};

// ---- calls by types ----

// Arguments whose operands are known by their types: objects without anything in them, which accounts do
// not read.
class TypedArguments {
 public:
  explicit TypedArguments(std::span<const tenon_written_argument> arguments) {
    for (const tenon_written_argument& argument : arguments) {
      if (argument.keyword.length == 0) {
        positional_.push_back(value_of(argument));
      } else {
        keywords_.push_back(argument.keyword);
        keyword_values_.push_back(value_of(argument));
      }
    }
  }
  GivenCall call() const { return {{positional_, keywords_, keyword_values_}, true, with_dtypes_}; }

 private:
  tenon_value value_of(const tenon_written_argument& argument) {
    if (argument.operands == nullptr) return argument.value;
    if (argument.list == 0) return tensor_value(operand(*argument.operands));
    std::vector<Tensor*>& list = lists_.emplace_back();
    for (int64_t i = 0; i < argument.operand_count; ++i)
      list.push_back(operand(argument.operands[i]));
    tenon_value value{};
    value.tag = TENON_VALUE_TENSOR_LIST;
    value.length = static_cast<uint32_t>(list.size());
    value.as.tensors = list.data();
    return value;
  }
  Tensor* operand(const tenon_operand_type& given) {
    const TensorType& type = TypeTable::process().checked(given.type);
    const bool has_dtype = given.dtype != TENON_DTYPE_NONE;
    with_dtypes_ = with_dtypes_ || has_dtype;
    const auto dtype = has_dtype ? given.dtype : tenon_dtype{TENON_F32};
    const int64_t shape[] = {1};
    if (!type.is_tensor) return owned_.emplace_back(make_dataless(dtype, shape, type.id)).get();
    TensorRef tensor = make_empty(dtype, shape);
    if (type.id != 0) set_type(*tensor, type.id, nullptr);
    return owned_.emplace_back(std::move(tensor)).get();
  }

  std::vector<tenon_value> positional_, keyword_values_;
  std::vector<tenon_string> keywords_;
  bool with_dtypes_ = false;
  std::list<std::vector<Tensor*>> lists_;
  std::vector<TensorRef> owned_;
};

}  // namespace

Json explain_call(const tenon_op* op, std::span<const tenon_value> positional,
                  std::span<const tenon_string> keywords,
                  std::span<const tenon_value> keyword_values) {
  const Implementation& implementation = require_implementation(op);
  const OrderedArguments ordered(implementation, positional);
  return Account(implementation,
                 {keywords.empty() ? ordered.written()
                                   : AsWritten{positional, keywords, keyword_values}})
      .make();
}

Json explain_call(const tenon_op* op, std::span<const tenon_written_argument> arguments) {
  const TypedArguments typed(arguments);
  return Account(require_implementation(op), typed.call()).make();
}

}  // namespace tenon::core
