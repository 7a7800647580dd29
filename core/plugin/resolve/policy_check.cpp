// A policy's entries, one list after the other.
#include "core/plugin/resolve/policy_check.hpp"

#include <algorithm>
#include <utility>

#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/schema/schema.hpp"
#include "core/plugin/facts/paths.hpp"
#include "core/plugin/resolve/plugin_documents.hpp"
#include "core/plugin/resolve/policy_stack.hpp"

namespace tenon::core {

const KnownPlugin* plugin_of(const PluginPolicy::Plugin& entry, const KnownPlugins& plugins,
                             std::span<const SearchFolder> folders, const std::string& source) {
  try {
    if (!is_plugin_path(entry.name)) {
      if (const KnownPlugin* plugin = find_id(plugins, entry.name)) return plugin;
      PluginFailure failure = missing_plugin(entry.name, plugins, folders);
      if (!entry.required && failure.stage == PluginStage::Find) return nullptr;
      throw PluginError(std::move(failure));
    }
    // A file that is named is known after a scan, unless it may be missing.
    const KnownPlugin* plugin = find_path(plugins, entry.name);
    if (plugin == nullptr || plugin->state != PluginState::Shadowed) return plugin;
    return &same_plugin(*plugin, plugins);
  } catch (PluginError& error) {
    error.failure.asked_by = source;
    throw PluginError(std::move(error.failure));
  }
}

namespace {

class PolicyCheck {
 public:
  explicit PolicyCheck(const PolicyCheckInput& input)
      : input_(input), policy_(input.policies.list.front()) {}

  std::vector<PluginFailure> run() {
    for (const PluginPolicy::Plugin& plugin : policy_.plugins) check_plugin(plugin);
    for (const PluginPolicy::Preference& preference : policy_.disable) check_disabled(preference);
    for (const PluginPolicy::Preference& preference : policy_.prefer) check_preferred(preference);
    for (const PluginPolicy::Type& type : policy_.types) check_type(type);
    review();
    return std::move(failures_);
  }

 private:
  void refuse(PluginFailure failure, const Json& written, std::string_view pointer = {}) {
    if (failure.place.empty()) failure.place = place_in(written, pointer);
    if (failure.place.empty()) failure.asked_by = policy_.source;
    failures_.push_back(std::move(failure));
  }
  void refuse_name(std::string problem, const Json& written, const std::string& remedy,
                   std::string_view pointer = {}) {
    refuse(make_failure(PluginStage::Find, "", "", std::move(problem), remedy), written, pointer);
  }
  void refuse_late(const KnownPlugin& plugin, PluginStage stage, std::string problem,
                   const Json& written, std::string_view pointer = {}) {
    refuse(make_failure(stage, plugin.id(), plugin.found.path, std::move(problem),
                        "apply the config before anything of the plugin is used"),
           written, pointer);
  }

  void check_plugin(const PluginPolicy::Plugin& plugin) {
    if (plugin.mode == LoadMode::Never) return check_excluded(plugin);
    const KnownPlugin* known = nullptr;
    try {
      known = plugin_of(plugin, input_.plugins, input_.folders, policy_.source);
    } catch (const PluginError& error) {
      return refuse(error.failure, plugin.written);
    }
    if (known == nullptr) {
      left_out_.push_back(plugin.name);
      return;
    }
    if (is_another(plugin, *known) || is_listed_twice(plugin, *known)) return;
    listed_.emplace_back(known->found.path, plugin.name);
    if (known->state == PluginState::Failed) {
      const bool version = known->failure->stage == PluginStage::Version;
      return refuse(*known->failure, plugin.written, version ? "/version" : "");
    }
    const GuardTerms terms = guard_terms(*known, input_.policies);
    if (auto failure = GuardedPlugin(terms, known->id(), known->found.path)
                           .judge(TENON_GUARD_POLICY, *known->found.facts, known->found.stamp))
      refuse(std::move(*failure), plugin.written);
    if (known->is_final()) check_loaded(plugin, *known);
    if (auto failure = input_.resolver.conflict(*known))
      refuse(std::move(*failure), plugin.written);
  }

  void check_excluded(const PluginPolicy::Plugin& plugin) {
    const KnownPlugin* known = is_plugin_path(plugin.name) ? find_path(input_.plugins, plugin.name)
                                                           : find_id(input_.plugins, plugin.name);
    if (known == nullptr) return;
    listed_.emplace_back(known->found.path, plugin.name);
    if (known->is_final())
      refuse_late(*known, PluginStage::Register, "it is loaded already, so it cannot be disabled",
                  plugin.written, "/load");
  }

  bool is_another(const PluginPolicy::Plugin& plugin, const KnownPlugin& known) {
    const std::string& id = known.id();
    if (plugin.id.empty() || id.empty() || known.is_named(plugin.id)) return false;
    const bool names_version = !split_plugin_name(plugin.id).second.empty();
    const std::string found = names_version && !known.found.is_side()
                                  ? format_text("{}@{}", id, known.found.facts->version)
                                  : id;
    refuse(make_failure(PluginStage::Find, plugin.id, known.found.path,
                        format_text("the file at this path is plugin {}", quote(found)),
                        "correct `name` or `path`, or leave one of them out"),
           plugin.written);
    return true;
  }

  bool is_listed_twice(const PluginPolicy::Plugin& plugin, const KnownPlugin& known) {
    if (std::none_of(listed_.begin(), listed_.end(), [&](const auto& one) {
          return one.first == known.found.path && one.second != plugin.name;
        }))
      return false;
    refuse(make_failure(PluginStage::Find, known.id(), known.found.path,
                        "the config lists it twice, by its id and by its path",
                        "remove one of the entries"),
           plugin.written);
    return true;
  }

  void check_loaded(const PluginPolicy::Plugin& plugin, const KnownPlugin& known) {
    if (auto failure = check_version(*known.found.facts, known.found.path, plugin.version))
      refuse(std::move(*failure), plugin.written, "/version");
    if (plugin.options)
      refuse_late(known, PluginStage::Init, "it is loaded already, so its options come too late",
                  plugin.written, "/options");
  }

  bool is_missing(const std::string& id) const {
    return std::find(left_out_.begin(), left_out_.end(), id) != left_out_.end();
  }

  // Names that a preference may match, also of plugins that failed or are disabled.
  std::vector<std::string_view> names_for(const PluginPolicy::Preference& preference) const {
    std::vector<std::string_view> names;
    for (const KnownPlugin* known : input_.plugins) {
      if (known->found.facts == nullptr) continue;
      if (!preference.plugin.empty() && !known->is_named(preference.plugin)) continue;
      const PluginFacts& facts = *known->found.facts;
      for (const OverrideFacts& entry : facts.overrides)
        names.push_back(preference.about_overrides() ? entry.name() : schema_name(entry.schema));
      if (preference.about_overrides()) continue;
      for (const OpFacts& op : facts.ops) names.push_back(op.name());
      for (const ModuleFacts& module : facts.modules) names.push_back(module.name());
      for (const ServiceFacts& service : facts.services) names.push_back(service.name());
    }
    return names;
  }

  // A preference that matches nothing is mistyped.
  void check_matches(const PluginPolicy::Preference& preference, const char* list) {
    if (is_missing(preference.plugin)) return;
    const std::vector<std::string_view> names = names_for(preference);
    if (std::any_of(names.begin(), names.end(), [&](std::string_view name) {
          return matches_pattern(preference.pattern, name);
        }))
      return;
    refuse_name(format_text("{}: {} matches no {}{}{}", list, quote(preference.pattern),
                            preference.about_overrides() ? "override" : "op or module",
                            preference.plugin.empty()
                                ? " of any plugin"
                                : format_text(" of plugin {}", quote(preference.plugin)),
                            suggestion(preference.pattern, names)),
                preference.written, "correct the name, or remove the entry");
  }

  void check_disabled(const PluginPolicy::Preference& preference) {
    check_matches(preference, "ops.disable");
    for (const auto& names : input_.registrations.names()) {
      for (const auto& [name, plugins] : names) {
        if (!matches_pattern(preference.pattern, name)) continue;
        for (const KnownPlugin* plugin : plugins) {
          if (!preference.plugin.empty() && !plugin->is_named(preference.plugin)) continue;
          refuse_late(
              *plugin, PluginStage::Register,
              format_text("{} is registered already, so it cannot be disabled", quote(name)),
              preference.written);
        }
      }
    }
  }

  void check_preferred(const PluginPolicy::Preference& preference) {
    if (is_missing(preference.plugin)) return;
    if (std::ranges::any_of(input_.plugins, [&](const KnownPlugin* known) {
          return known->is_named(preference.plugin);
        })) {
      check_matches(preference, "ops.prefer");
      return check_conditions(preference);
    }
    refuse(make_failure(PluginStage::Find, preference.plugin, "",
                        format_text("it is preferred for {} but no plugin has this id; {}",
                                    quote(preference.pattern), searched_text(input_.folders)),
                        "correct the id, or remove the entry"),
           preference.written);
  }

  // Conditions are about tensors among the parameters of an op that the plugin provides.
  void check_conditions(const PluginPolicy::Preference& preference) {
    if (!preference.when) return;
    if (preference.about_overrides())
      return refuse_name(
          format_text("ops.prefer: {} names overrides, which types choose, not shapes",
                      quote(preference.pattern)),
          preference.written, "remove `when`, or name an op", "/when");
    for (const ShapeCondition& condition : *preference.when) {
      std::vector<std::string> tensors;
      if (is_tensor_of_op(preference, condition.parameter, tensors)) continue;
      std::ranges::sort(tensors);
      tensors.erase(std::unique(tensors.begin(), tensors.end()), tensors.end());
      const Words names(tensors.begin(), tensors.end());
      refuse_name(format_text("ops.prefer: {} is not a tensor among the parameters of {}{}",
                              quote(condition.parameter), quote(preference.pattern),
                              suggestion(condition.parameter, names)),
                  preference.written,
                  names.empty()
                      ? "remove `when`"
                      : format_text("name one of its tensors: {}", quoted_list(names, "or")),
                  format_text("/when/{}", condition.parameter));
    }
  }
  // `tensors` gets the parameters that a condition may be about.
  bool is_tensor_of_op(const PluginPolicy::Preference& preference, const std::string& parameter,
                       std::vector<std::string>& tensors) const {
    for (const KnownPlugin* known : input_.plugins) {
      if (known->found.facts == nullptr || !known->is_named(preference.plugin)) continue;
      for (const OpFacts& op : known->found.facts->ops) {
        if (!matches_pattern(preference.pattern, op.name())) continue;
        try {
          for (const Parameter& one : parse_schema(op.schema).parameters) {
            if (one.type.kind != TypeKind::tensor || one.type.list) continue;
            if (one.name == parameter) return true;
            tensors.push_back(one.name);
          }
        } catch (const Error&) {  // loading the plugin says what is wrong with it
        }
      }
    }
    return false;
  }

  void check_type(const PluginPolicy::Type& type) {
    if (input_.resolver.declaring(ItemKind::Type, type.name) == nullptr) {
      refuse_name(format_text("types: no plugin provides a tensor type {}{}", quote(type.name),
                              suggestion(type.name, input_.resolver.names(ItemKind::Type))),
                  type.written, "correct the name, or remove the entry");
    }
    const std::vector<std::string_view> ops = input_.resolver.names(ItemKind::Op);
    const auto check_patterns = [&](const std::vector<std::string>& patterns, const char* list) {
      for (size_t i = 0; i < patterns.size(); ++i) {
        if (std::any_of(ops.begin(), ops.end(),
                        [&](std::string_view op) { return matches_pattern(patterns[i], op); }))
          continue;
        refuse_name(format_text("types: {}: {} matches no op of any plugin{}", type.name,
                                quote(patterns[i]), suggestion(patterns[i], ops)),
                    type.written, "correct the name, or remove it", format_text("{}{}", list, i));
      }
    };
    check_patterns(type.settings.fallback_allow, "/fallback_ops/allow/");
    check_patterns(type.settings.fallback_deny, "/fallback_ops/deny/");
    check_patterns(type.settings.covers, "/covers/");
  }

  // Faults that the guard finds in the policies together.
  void review() {
    const PolicyStack& policies = input_.policies;
    if (policies.guard == nullptr ||
        std::ranges::none_of(policies.list,
                             [](const PluginPolicy& one) { return one.adopted.reviews; }))
      return;
    for (PluginFailure& failure : policies.guard->review(
             policies.guard_documents(), static_cast<bool>(policy_.adopted.document),
             loadable_document(input_.plugins, input_.resolver)))
      refuse(std::move(failure), {});
  }

  const PolicyCheckInput& input_;
  const PluginPolicy& policy_;
  std::vector<PluginFailure> failures_;
  std::vector<std::string> left_out_;                        // not required, and missing
  std::vector<std::pair<std::string, std::string>> listed_;  // path, name
};

}  // namespace

std::vector<PluginFailure> check_policy(const PolicyCheckInput& input) {
  return PolicyCheck(input).run();
}

}  // namespace tenon::core
