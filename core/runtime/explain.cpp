// The document of a call that is described instead of run: bound by the code of calls, and
// explained by each layer (dispatch/call/explanation.hpp).
#include "core/runtime/explain.hpp"

#include <algorithm>
#include <list>
#include <optional>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/binding/bound_call.hpp"
#include "core/dispatch/binding/value.hpp"
#include "core/dispatch/call/call.hpp"
#include "core/dispatch/call/explanation.hpp"
#include "core/dispatch/table/registry.hpp"
#include "core/kernel/elementwise.hpp"
#include "core/runtime/runtime.hpp"
#include "core/tensor/dtype.hpp"

namespace tenon::core {

namespace {

// A call as it is written.
struct Written {
  std::vector<tenon_value> positional;
  std::vector<tenon_string> keywords;
  std::vector<tenon_value> keyword_values;
  // For a call by types: how its operands are written, what was filled in, and whether dtypes say
  // anything.
  bool by_types = false;
  bool with_dtypes = false;
  std::vector<std::string> words, keyword_words;
  size_t assumed_from = SIZE_MAX;  // keywords from here on
};

struct Refusal {
  tenon_status kind = TENON_OK;
  std::string message;
};

// The plugins, looked up once.
class Providers {
 public:
  explicit Providers(PluginManager& manager) : plugins_(manager.list()) {}

  std::string version(std::string_view id) const {
    for (const PluginListing& plugin : plugins_) {
      if (plugin.id == id && plugin.state != PluginState::Shadowed) return plugin.version;
    }
    return "";
  }
  const std::vector<PluginListing>& all() const { return plugins_; }

 private:
  std::vector<PluginListing> plugins_;
};

// The document of a call: its arguments, and what the layers say.
class ExplainedCall {
 public:
  ExplainedCall(const Runtime& runtime, const Implementation& implementation, const Written& call)
      : runtime_(runtime),
        schema_(implementation.schema),
        call_(call),
        providers_(runtime.manager),
        explained_{.types = runtime.tables.types, .implementation = &implementation} {}

  Json make() {
    json_.begin_object().member("op", schema_.name).member("signature", signature_text(schema_));
    const Implementation& first = *explained_.implementation;
    put_provider(first.provider);
    for (const ProviderListing& one : runtime_.manager.providers(ItemKind::Op, schema_.name)) {
      if (one.plugin == first.provider && !one.reason.empty()) json_.member("ranked", one.reason);
    }
    if (attempt([&] { bind(first); })) {
      put_arguments();
      walk();
      put_walk();
    } else {
      put_unbound();
      explained_.suggestion =
          format_text("call it as {}{}", schema_.short_name(), signature_text(schema_));
    }
    if (refusal_.kind != TENON_OK) put_refusal(refusal_);
    json_.end_object();
    return json_.finish();
  }

 private:
  template <class Check>
  bool attempt(Check&& check) {
    try {
      check();
      return true;
    } catch (const Error& error) {
      refusal_ = {error.kind, error.message};
      return false;
    }
  }

  void bind(const Implementation& implementation) {
    explained_.by_types = call_.by_types;
    explained_.arguments = bound_.values;
    explained_.flags =
        bind_call(implementation, {call_.positional, call_.keywords, call_.keyword_values}, bound_);
    if ((explained_.flags & TENON_TENSOR_TYPED) == 0) {
      explained_.operands = gather_types(implementation, bound_.values);
      return;
    }
    Carried carried;
    explained_.operands = gather_types(implementation, bound_.values, carried);
    explained_.flags |= carried.flags;
  }

  // Has each layer say what it would do, as far as the call would get.
  void walk() {
    for (const Layer& layer : layers) {
      const bool own = explained_.runs_own();
      if (attempt([&] { layer.explain(explained_); })) continue;
      if (own)
        explained_.suggestion = format_text("see `tenon show {}` for what it takes", schema_.name);
      else if (explained_.suggestion.empty())
        explained_.suggestion = suggest();
      return;
    }
  }

  void put_provider(const std::string& provider) {
    json_.member("provider", provider).member("version", providers_.version(provider));
  }

  // ---- arguments ----

  struct Source {
    const char* given = "default";
    const tenon_value* value = nullptr;
    const std::string* word = nullptr;
  };
  Source source_of(size_t parameter) const {
    if (parameter < call_.positional.size()) {
      return {"position", &call_.positional[parameter],
              parameter < call_.words.size() ? &call_.words[parameter] : nullptr};
    }
    for (size_t k = 0; k < call_.keywords.size(); ++k) {
      const tenon_string& name = call_.keywords[k];
      if (schema_.parameters[parameter].name !=
          std::string_view(name.data, static_cast<size_t>(name.length)))
        continue;
      return {k >= call_.assumed_from ? "assumed" : "keyword", &call_.keyword_values[k],
              k < call_.keyword_words.size() ? &call_.keyword_words[k] : nullptr};
    }
    return {};
  }

  void put_arguments() {
    json_.key("arguments").begin_array();
    for (size_t i = 0; i < schema_.parameters.size(); ++i) {
      const Parameter& parameter = schema_.parameters[i];
      const Source source = source_of(i);
      json_.begin_object().member("name", parameter.name).member("position", i + 1);
      json_.member("given", source.given);
      json_.member("value", source.value == nullptr  ? parameter.default_value.text
                            : source.word != nullptr ? *source.word
                                                     : brief_text(*source.value));
      if (source.value != nullptr && source.value->tag != bound_.values[i].tag) {
        json_.member("converted", format_text("{} to {}", value_type_text(*source.value),
                                              value_type_text(bound_.values[i])));
      }
      json_.end_object();
    }
    json_.end_array();
  }

  void put_unbound() {
    json_.key("arguments").begin_array();
    const auto put = [&](std::string_view name, size_t i, const char* given,
                         const tenon_value& value, const std::vector<std::string>& words) {
      json_.begin_object();
      if (!name.empty()) json_.member("name", name);
      json_.member("given", given)
          .member("value", i < words.size() ? words[i] : brief_text(value))
          .end_object();
    };
    for (size_t i = 0; i < call_.positional.size(); ++i)
      put("", i, "position", call_.positional[i], call_.words);
    for (size_t k = 0; k < std::min(call_.keywords.size(), call_.assumed_from); ++k) {
      const tenon_string& name = call_.keywords[k];
      put({name.data, static_cast<size_t>(name.length)}, k, "keyword", call_.keyword_values[k],
          call_.keyword_words);
    }
    json_.end_array();
  }

  // ---- the walk ----

  void put_walk() {
    const auto put_names = [&](const char* key, const auto& items, auto&& name_of) {
      json_.key(key).begin_array();
      for (const auto& item : items) json_.value(name_of(item));
      json_.end_array();
    };
    const auto itself = [](const std::string& name) { return name; };
    std::vector<std::string> types;
    for (const TensorType* type : explained_.operands) types.push_back(type->name);
    if (explained_.operands.plain) types.push_back(explained_.types.tensor().name);
    put_names("types", types, itself);
    put_names("modes", explained_.modes, itself);
    put_names("modes_below", explained_.modes_below, itself);
    put_names("order", explained_.plan ? explained_.plan->dispatching : std::vector<uint32_t>(),
              [&](uint32_t type) { return explained_.types.at(type).name; });
    json_.key("steps").begin_array();
    for (const Explanation::Step& step : explained_.steps) put_step(step);
    json_.end_array();
    if (explained_.declined) put_declined(*explained_.declined);
    if (refusal_.kind != TENON_OK) return;
    put_next();
    put_outranked();
    if (!explained_.first_mode.empty()) put_handling("answer", {explained_.first_mode, ""});
    put_handling(explained_.first_mode.empty() ? "answer" : "then", *explained_.handling);
    if (explained_.runs_own()) put_kernel(explained_.kernel);
    json_.member("gradient", explained_.gradient);
  }

  void put_step(const Explanation::Step& step) {
    json_.begin_object();
    if (!step.type.empty()) json_.member("type", step.type);
    json_.member("what", step.what);
    if (!step.provider.empty()) put_provider(step.provider);
    json_.member("asked", step.reason.empty());
    if (!step.reason.empty()) json_.member("reason", step.reason);
    json_.end_object();
  }

  void put_declined(const std::vector<DeclinedCall>& declined) {
    json_.key("declined").begin_array();
    for (const DeclinedCall& one : declined) {
      json_.begin_object().member("plugin", one.provider);
      json_.member("reason", one.reason).end_object();
    }
    json_.end_array();
  }

  void put_handling(const char* key, const Explanation::Handling& handling) {
    json_.key(key).begin_object().member("what", handling.what);
    if (!handling.provider.empty()) put_provider(handling.provider);
    json_.end_object();
  }

  void put_kernel(const std::optional<KernelChoice>& kernel) {
    json_.key("kernel").begin_object().member("device", "cpu");
    if (kernel && (!call_.by_types || call_.with_dtypes)) {
      json_.member("compute", dtype_text(kernel->compute))
          .member("result", dtype_text(kernel->result));
    }
    if (kernel) json_.member("isa", isa_text(kernel->isa));
    json_.end_object();
  }

  // ---- refusals ----

  void put_refusal(const Refusal& refusal) {
    json_.member("error", refusal.message).member("kind", error_kind_text(refusal.kind));
    json_.key("nearest").begin_array();
    for (const std::string& text : nearest_overrides()) json_.value(text);
    json_.end_array();
    put_possible();
    json_.member("suggestion", explained_.suggestion);
  }

  bool relates(const TensorType& other) const {
    return std::any_of(explained_.operands.begin(), explained_.operands.end(),
                       [&](const TensorType* type) { return type->is(other) || other.is(*type); });
  }

  // Active overrides for one of the types or a relative; else for any types.
  std::vector<std::string> nearest_overrides() const {
    std::vector<std::string> related, others;
    if (explained_.operands.count() == 0) return related;
    for (const Override* entry : runtime_.tables.types.overrides(schema_.name)) {
      const bool near = std::any_of(entry->types.begin(), entry->types.end(),
                                    [&](const TensorType* other) { return relates(*other); });
      std::vector<std::string>& texts = near ? related : others;
      if (texts.size() < 3)
        texts.push_back(format_text("{} from '{}'", entry->key(), entry->provider));
    }
    return related.empty() ? others : related;
  }

  // Overrides that plugins declare for these types, and that are not active: from facts.
  struct Possible {
    const PluginListing* plugin;
    const OverrideFacts* entry;
    std::string state, reason;
  };
  std::vector<Possible> possible() const {
    std::vector<Possible> list;
    const std::vector<const Override*> active = runtime_.tables.types.overrides(schema_.name);
    for (const PluginListing& plugin : providers_.all()) {
      if (plugin.facts == nullptr || plugin.state == PluginState::Shadowed) continue;
      for (const OverrideFacts& entry : plugin.facts->overrides) {
        if (schema_name(entry.schema) != schema_.name) continue;
        const std::vector<std::string> names = type_names(entry.types);
        const bool near = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
          const TensorType* type = runtime_.tables.types.find(name);
          return type != nullptr && relates(*type);
        });
        const auto known = std::find_if(active.begin(), active.end(), [&](const Override* other) {
          return other->key() == entry.key;
        });
        const std::string preferred = known == active.end() ? "" : (*known)->provider;
        if (!near || preferred == plugin.id) continue;
        const bool loaded = plugin.state == PluginState::Active;
        const bool off = loaded && preferred.empty();  // the plugin is loaded and has no conflict
        list.push_back({&plugin, &entry,
                        off                                    ? "switched off"
                        : loaded                               ? "outranked"
                        : plugin.state == PluginState::Indexed ? "not loaded"
                                                               : plugin_state_text(plugin.state),
                        off ? "switched off by `ops.disable` in a config, or by an OverrideDisabled"
                        : loaded ? format_text("plugin {} is preferred", quote(preferred))
                                 : plugin.reason});
      }
    }
    return list;
  }

  // Who runs what the provider that takes this call declines.
  void put_next() {
    const Implementation& implementation = *explained_.implementation;
    if (implementation.descriptor.declines == nullptr) return;
    const std::vector<DeclinedCall> declined =
        explained_.declined.value_or(std::vector<DeclinedCall>());
    json_.key("next").begin_array();
    for (const ProviderListing& provider : runtime_.manager.providers(ItemKind::Op, schema_.name)) {
      const bool has_declined =
          std::ranges::find(declined, provider.plugin, &DeclinedCall::provider) != declined.end();
      if (provider.standing == ProviderStanding::Next && !has_declined &&
          provider.plugin != implementation.provider)
        json_.value(provider.plugin);
    }
    json_.end_array();
  }

  // Who else declares what is asked, and is not.
  void put_outranked() {
    json_.key("outranked").begin_array();
    const auto put = [&](const std::string& plugin, const std::string& what,
                         const std::string& standing, const std::string& reason) {
      json_.begin_object().member("plugin", plugin).member("what", what);
      json_.member("standing", standing);
      if (!reason.empty()) json_.member("reason", reason);
      json_.end_object();
    };
    for (const ProviderListing& provider : runtime_.manager.providers(ItemKind::Op, schema_.name)) {
      if (provider.standing == ProviderStanding::Chosen ||
          provider.standing == ProviderStanding::Next)
        continue;
      put(provider.plugin, format_text("op {}", schema_.name),
          provider_standing_text(provider.standing), provider.reason);
    }
    for (const Possible& one : possible())
      put(one.plugin->id, format_text("override {}", one.entry->key), one.state, one.reason);
    json_.end_array();
  }

  void put_possible() {
    json_.key("plugins").begin_array();
    for (const Possible& one : possible()) {
      json_.begin_object()
          .member("plugin", one.plugin->id)
          .member("override", one.entry->key)
          .member("state", one.state)
          .member("reason", one.reason)
          .end_object();
    }
    json_.end_array();
  }

  std::string suggest() const {
    for (const Possible& one : possible()) {
      const std::string plugin = format_text("plugin '{}'", one.plugin->id);
      if (one.state == "outranked") continue;
      if (one.state == "switched off")
        return format_text("switch override {} on again", one.entry->key);
      if (one.plugin->state == PluginState::Indexed) return format_text("load {}", plugin);
      if (one.plugin->state == PluginState::Failed)
        return format_text("repair {}: `tenon show {}` says what is wrong", plugin, one.plugin->id);
      return format_text("enable {} in the config", plugin);
    }
    std::string names;
    for (const TensorType* type : explained_.operands)
      names += (names.empty() ? "" : ", ") + type->name;
    const std::string key = format_text("{}[{}]", schema_.name, names);
    if (!explained_.plan) return "pass a plain Tensor: the op is not overridable";
    if (const TensorType* refused = explained_.plan->refused)
      return format_text("pass another operand: no op takes {}", refused->name);
    for (const TensorType* type : explained_.operands) {
      const auto converts = [](const TensorType& level) {
        return level.descriptor.to_tensor != nullptr;
      };
      if (type->nearest(converts) == nullptr) continue;
      return format_text(
          "register an override {}, or convert by ensure_tensor({}) or by the type's fallback", key,
          type->name);
    }
    return format_text("register an override {}, or give the type a tenon_function", key);
  }

  const Runtime& runtime_;
  const Schema& schema_;
  const Written& call_;
  const Providers providers_;
  BoundArguments bound_;
  Explanation explained_;
  Refusal refusal_;
  JsonBuilder json_;
};

// ---- calls by types ----

// The arguments of a call whose operands are known by their types: objects without anything in them, which
// explanations do not read.
class TypedArguments {
 public:
  TypedArguments(const TypeTable& types, std::span<const tenon_written_argument> arguments)
      : types_(types) {
    written_.by_types = true;
    for (const tenon_written_argument& argument : arguments) add(argument);
  }
  const Written& written() const { return written_; }

 private:
  static std::string text_of(const tenon_string& text) {
    return {text.data, static_cast<size_t>(text.length)};
  }
  void add(const tenon_written_argument& argument) {
    if (argument.keyword.length == 0) {
      written_.positional.push_back(value_of(argument));
      written_.words.push_back(text_of(argument.text));
      return;
    }
    if (argument.assumed != 0)
      written_.assumed_from = std::min(written_.assumed_from, written_.keywords.size());
    written_.keywords.push_back(argument.keyword);
    written_.keyword_values.push_back(value_of(argument));
    written_.keyword_words.push_back(text_of(argument.text));
  }

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
    const TensorType& type = types_.checked(given.type);
    const bool has_dtype = given.dtype != TENON_DTYPE_NONE;
    written_.with_dtypes = written_.with_dtypes || has_dtype;
    const auto dtype = has_dtype ? given.dtype : tenon_dtype{TENON_F32};
    const int64_t shape[] = {1};
    if (!type.is_tensor) return owned_.emplace_back(make_dataless(dtype, shape, type.id)).get();
    TensorRef tensor = make_empty(dtype, shape);
    if (type.id != 0) set_type(*tensor, type.id, nullptr);
    return owned_.emplace_back(std::move(tensor)).get();
  }

  const TypeTable& types_;
  Written written_;
  std::list<std::vector<Tensor*>> lists_;
  std::vector<TensorRef> owned_;
};

}  // namespace

Json explain_call(const tenon_op* op, std::span<const tenon_value> positional,
                  std::span<const tenon_string> keywords,
                  std::span<const tenon_value> keyword_values) {
  const Implementation& implementation = require_implementation(op);
  Written written;
  const OrderedArguments ordered(implementation, positional);
  const AsWritten given =
      keywords.empty() ? ordered.written() : AsWritten{positional, keywords, keyword_values};
  written.positional.assign(given.positional.begin(), given.positional.end());
  written.keywords.assign(given.keywords.begin(), given.keywords.end());
  written.keyword_values.assign(given.keyword_values.begin(), given.keyword_values.end());
  return ExplainedCall(process_runtime(), implementation, written).make();
}

Json explain_call(const Runtime& runtime, const tenon_op* op,
                  std::span<const tenon_written_argument> arguments) {
  const TypedArguments typed(runtime.tables.types, arguments);
  return ExplainedCall(runtime, require_implementation(op), typed.written()).make();
}

}  // namespace tenon::core
