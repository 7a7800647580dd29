// Declarations of two builds of a plugin held against each other.
#include "core/plugin/compatibility.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/schema/schema.hpp"
#include "core/plugin/version_range.hpp"
#include "tenon/abi/op.h"
#include "tenon/abi/type.h"

namespace tenon::core {

namespace {

// What changed of one item: `breaks` first decides the order of the whole list.
class Changes {
 public:
  Changes(std::vector<CompatibilityChange>& list, std::string kind, std::string_view name)
      : list_(list), kind_(std::move(kind)), name_(name) {}

  void breaks(std::string what) { list_.push_back({true, kind_, name_, std::move(what)}); }
  void adds(std::string what) { list_.push_back({false, kind_, name_, std::move(what)}); }
  void breaks_if(bool broken, const char* what) {
    if (broken) breaks(what);
  }

 private:
  std::vector<CompatibilityChange>& list_;
  std::string kind_, name_;
};

// ---- schemas ----

// A value of a kind that another takes as well, with the same meaning.
struct WiderKind {
  TypeKind narrow, wide;
};
constexpr WiderKind kWiderKinds[] = {
    {TypeKind::tensor, TypeKind::tensor_or_scalar},
    {TypeKind::scalar, TypeKind::tensor_or_scalar},
    {TypeKind::integer, TypeKind::scalar},
    {TypeKind::integer, TypeKind::floating},
    {TypeKind::floating, TypeKind::scalar},
    {TypeKind::boolean, TypeKind::scalar},
    {TypeKind::integer, TypeKind::tensor_or_scalar},
    {TypeKind::floating, TypeKind::tensor_or_scalar},
    {TypeKind::boolean, TypeKind::tensor_or_scalar},
};

bool takes_kind(TypeKind now, TypeKind before) {
  return now == before || now == TypeKind::any ||
         std::ranges::any_of(kWiderKinds, [&](const WiderKind& pair) {
           return pair.narrow == before && pair.wide == now;
         });
}

// Whether everything that could be passed before can be passed now.
bool takes_all(const SchemaType& now, const SchemaType& before) {
  return takes_kind(now.kind, before.kind) && now.list == before.list &&
         now.dictionary == before.dictionary && now.length == before.length &&
         (now.optional || !before.optional);
}

// Without what aliasing adds, which is compared by parameter.
std::string plain_type_text(SchemaType type) {
  type.alias = 0;
  type.mutates = false;
  return type_text(type);
}

// The place of the first parameter with the letter; -1: the result is fresh.
int64_t aliased_place(const Schema& schema, const SchemaType& result) {
  if (result.alias == 0) return -1;
  const auto found = std::ranges::find_if(schema.parameters, [&](const Parameter& parameter) {
    return parameter.type.alias == result.alias;
  });
  return found == schema.parameters.end() ? -1 : found - schema.parameters.begin();
}

std::string default_text(const Parameter& parameter) {
  return parameter.has_default ? parameter.default_value.text : "no default";
}

void compare_parameter(Changes& changes, const Parameter& before, const Parameter& now) {
  const std::string name = quote(before.name);
  if (!takes_all(now.type, before.type)) {
    changes.breaks(format_text("its parameter {} takes {} instead of {}", name,
                               plain_type_text(now.type), plain_type_text(before.type)));
  }
  if (now.type.mutates != before.type.mutates) {
    changes.breaks(format_text("it {} its argument {} in place now",
                               now.type.mutates ? "changes" : "does not change", name));
  }
  if (before.has_default && default_text(before) != default_text(now)) {
    changes.breaks(now.has_default
                       ? format_text("the default of its parameter {} is {} instead of {}", name,
                                     default_text(now), default_text(before))
                       : format_text("its parameter {} has no default now; it was {}", name,
                                     default_text(before)));
  }
  if (!before.keyword_only && now.keyword_only)
    changes.breaks(format_text("its parameter {} is taken by name only now", name));
}

void compare_parameters(Changes& changes, const Schema& before, const Schema& now) {
  std::vector<bool> known(now.parameters.size());
  for (size_t i = 0; i < before.parameters.size(); ++i) {
    const Parameter& parameter = before.parameters[i];
    const int64_t at = now.find(parameter.name);
    if (at >= 0) {
      const auto place = static_cast<size_t>(at);
      known[place] = true;
      compare_parameter(changes, parameter, now.parameters[place]);
      if (!parameter.keyword_only && !now.parameters[place].keyword_only && place != i) {
        changes.breaks(format_text("its parameter {} has moved from place {} to {}",
                                   quote(parameter.name), i + 1, place + 1));
      }
      continue;
    }
    const bool renamed = i < now.parameters.size() && before.find(now.parameters[i].name) < 0 &&
                         now.parameters[i].keyword_only == parameter.keyword_only &&
                         takes_all(now.parameters[i].type, parameter.type);
    if (renamed) known[i] = true;
    changes.breaks(renamed ? format_text("its parameter {} is called {} now", quote(parameter.name),
                                         quote(now.parameters[i].name))
                           : format_text("it has no parameter {} now", quote(parameter.name)));
    if (renamed && parameter.has_default && !now.parameters[i].has_default)
      changes.breaks(format_text("its parameter {} has no default", quote(now.parameters[i].name)));
  }
  for (size_t i = 0; i < now.parameters.size(); ++i) {
    if (known[i]) continue;
    const Parameter& added = now.parameters[i];
    if (added.has_default)
      changes.adds(format_text("it has a parameter {} with the default {}", quote(added.name),
                               default_text(added)));
    else
      changes.breaks(
          format_text("it requires a parameter {}, which was not there", quote(added.name)));
  }
}

void compare_returns(Changes& changes, const Schema& before, const Schema& now) {
  if (before.returns.size() != now.returns.size()) {
    changes.breaks(format_text("it returns {} instead of {}",
                               counted(static_cast<int64_t>(now.returns.size()), "result"),
                               before.returns.size()));
    return;
  }
  for (size_t i = 0; i < before.returns.size(); ++i) {
    const std::string old_type = plain_type_text(before.returns[i]);
    const std::string new_type = plain_type_text(now.returns[i]);
    if (old_type != new_type) {
      changes.breaks(format_text("its result {} is {} instead of {}", i + 1, new_type, old_type));
    }
    const int64_t old_base = aliased_place(before, before.returns[i]);
    const int64_t new_base = aliased_place(now, now.returns[i]);
    if (old_base >= 0 && new_base != old_base) {
      changes.breaks(format_text("its result {} does not share memory with its argument {} now",
                                 i + 1, quote(before.parameters[size_t(old_base)].name)));
    }
    if (new_base >= 0 && new_base != old_base) {
      changes.breaks(format_text("its result {} shares memory with its argument {} now", i + 1,
                                 quote(now.parameters[size_t(new_base)].name)));
    }
    const std::string& old_name = before.return_names[i];
    const std::string& new_name = now.return_names[i];
    if (!old_name.empty() && old_name != new_name) {
      changes.breaks(format_text(
          "its result {} is {}; it was called {}", i + 1,
          new_name.empty() ? "without a name" : format_text("called {}", quote(new_name)),
          quote(old_name)));
    }
  }
}

void compare_schemas(Changes& changes, const std::string& before, const std::string& now) {
  if (before == now) return;
  const Schema old_schema = parse_schema(before), new_schema = parse_schema(now);
  compare_parameters(changes, old_schema, new_schema);
  compare_returns(changes, old_schema, new_schema);
}

// ---- items ----

void compare(Changes& changes, const OpFacts& before, const OpFacts& now) {
  compare_schemas(changes, before.schema, now.schema);
  const auto gained = [&](int64_t flag) {
    return (before.flags & flag) == 0 && (now.flags & flag) != 0;
  };
  const bool had_gradient = before.differentiable != "none";
  const bool has_gradient = now.differentiable != "none";
  const bool zero_gradient = (now.flags & TENON_OP_ZERO_GRADIENT) != 0;
  if (had_gradient && !has_gradient) {
    changes.breaks(zero_gradient ? "its gradient is zero now" : "it has no gradient now");
  } else if (!had_gradient && !has_gradient && !zero_gradient &&
             (before.flags & TENON_OP_ZERO_GRADIENT) != 0) {
    changes.breaks("a call that is recorded is an error now; its gradient was zero");
  } else if (!had_gradient && has_gradient) {
    changes.adds("it has a gradient");
  }
  changes.breaks_if(has_gradient && gained(TENON_OP_ONCE_DIFFERENTIABLE),
                    "differentiating its backward is an error now");
  changes.breaks_if(before.jvp != "none" && now.jvp == "none", "it has no jvp now");
  changes.breaks_if(now.jvp != "none" && gained(TENON_OP_JVP_ONCE),
                    "differentiating its jvp is an error now");
  changes.breaks_if(gained(TENON_OP_NOT_OVERRIDABLE), "it cannot be overridden now");
  changes.breaks_if(gained(TENON_OP_MAY_COPY), "its result may be a copy now");
  if (before.jvp == "none" && now.jvp != "none") changes.adds("it has a jvp");
}

void compare(Changes& changes, const ModuleFacts& before, const ModuleFacts& now) {
  compare_schemas(changes, before.schema, now.schema);
  if (!before.forward.empty() && !now.forward.empty())
    compare_schemas(changes, before.forward, now.forward);
  changes.breaks_if(!before.forward.empty() && now.forward.empty(),
                    "how it is called is not declared now");
  changes.breaks_if(before.mode && !now.mode, "it cannot be entered as a mode now");
}

void compare(Changes& changes, const TypeFacts& before, const TypeFacts& now) {
  const auto parent_text = [](const TypeFacts& type) {
    return type.parent.empty() ? std::string("no type") : type.parent;
  };
  if (before.parent != now.parent) {
    changes.breaks(
        format_text("it derives from {} instead of {}", parent_text(now), parent_text(before)));
  }
  changes.breaks_if(before.payload != now.payload,
                    "its payload is laid out otherwise: what reads it has to be built again");
  changes.breaks_if(before.handler && !now.handler, "it has no handler now");
  changes.breaks_if(before.fallback != now.fallback,
                    "ops that it does not handle are treated otherwise");
  changes.breaks_if(before.metadata != now.metadata, "payloads of results are made in another way");
  changes.breaks_if(
      (before.flags & TENON_TYPE_NEVER_OPERAND) == 0 && (now.flags & TENON_TYPE_NEVER_OPERAND) != 0,
      "no op accepts an operand of it now");
}

void compare(Changes& changes, const OverrideFacts& before, const OverrideFacts& now) {
  changes.breaks_if(before.accepts != now.accepts, "it accepts other operands");
}

// Both lists by name.
template <class Facts>
void compare_items(std::vector<CompatibilityChange>& list, const char* kind,
                   const std::vector<Facts>& before, const std::vector<Facts>& now) {
  std::unordered_map<std::string_view, const Facts*> added;
  for (const Facts& facts : now) added.emplace(facts.name(), &facts);
  for (const Facts& facts : before) {
    Changes changes(list, kind, facts.name());
    const auto found = added.find(facts.name());
    if (found == added.end()) {
      changes.breaks("it is not there now");
      continue;
    }
    compare(changes, facts, *found->second);
    added.erase(found);
  }
  for (const Facts& facts : now) {
    if (added.contains(facts.name())) Changes(list, kind, facts.name()).adds("it is new");
  }
}

}  // namespace

std::vector<CompatibilityChange> compare_plugins(const PluginFacts& old_facts,
                                                 const PluginFacts& new_facts) {
  std::vector<CompatibilityChange> list;
  Changes changes(list, "plugin", old_facts.id);
  if (old_facts.id != new_facts.id)
    changes.breaks(format_text("its id is {} now", quote(new_facts.id)));
  if (old_facts.abi_major != new_facts.abi_major) {
    changes.breaks(format_text("it needs a host of ABI {} instead of {}", new_facts.abi_major,
                               old_facts.abi_major));
  }
  compare_items(list, "op", old_facts.ops, new_facts.ops);
  compare_items(list, "module", old_facts.modules, new_facts.modules);
  compare_items(list, "type", old_facts.types, new_facts.types);
  compare_items(list, "override", old_facts.overrides, new_facts.overrides);
  std::stable_partition(list.begin(), list.end(),
                        [](const CompatibilityChange& change) { return change.breaks; });
  return list;
}

bool version_may_break(const std::string& old_version, const std::string& new_version) {
  return !VersionRange(format_text("^{}", old_version)).contains(parse_version(new_version));
}

}  // namespace tenon::core
