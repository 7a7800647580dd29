// Module state: what it consists of, and loading it with a full report of what does not fit.
#include "core/nn/state.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/interrupt.hpp"
#include "core/base/json.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/types/components.hpp"
#include "core/nn/hooks.hpp"
#include "core/nn/walk.hpp"
#include "core/tensor/copy.hpp"
#include "core/tensor/shape.hpp"

namespace tenon::core {

namespace {

constexpr WalkOptions kEachName{.recurse = true, .names = true, .duplicates = true};

StoredTensors stored(const std::vector<NamedTensor>& state) {
  StoredTensors all;
  for (const NamedTensor& own : state) all.add(own.name, own.tensor);
  return all;
}

// A module of a walk; its prefix begins the names of its members, and those of all below it.
struct Visited {
  ModuleRef module;
  std::string prefix;
};

// Modules that may have hooks, parents first. Hooks may change the tree meanwhile.
std::vector<Visited> hooked_modules(tenon_module& root) {
  std::vector<Visited> modules;
  visit_modules(root, kEachName, [&](tenon_module& entered, const std::string& prefix) {
    if (may_have_hooks(entered.hooks)) modules.push_back({ModuleRef(&entered), prefix});
  });
  return modules;
}

// Each module once those below it were visited.
template <class Visit>
void visit_children_first(const std::vector<Visited>& modules, Visit&& visit) {
  std::vector<const Visited*> open;
  const auto close = [&] {
    visit(*open.back()->module, open.back()->prefix);
    open.pop_back();
  };
  for (const Visited& next : modules) {
    while (!open.empty() && !next.prefix.starts_with(open.back()->prefix)) close();
    open.push_back(&next);
  }
  while (!open.empty()) close();
}

std::vector<NamedTensor> own_state(tenon_module& module) {
  std::vector<NamedTensor> state;
  visit_modules(module, kEachName, [&](tenon_module& entered, const std::string& prefix) {
    for (const tenon_module::Entry& entry : entered.parameters) {
      if (entry.tensor) state.push_back({prefix + entry.name, entry.tensor});
    }
    for (const tenon_module::Entry& entry : entered.buffers) {
      if (entry.tensor && entry.persistent) state.push_back({prefix + entry.name, entry.tensor});
    }
  });
  return state;
}

void run_save_hooks(const std::vector<Visited>& modules, std::vector<NamedTensor>& state) {
  visit_children_first(modules, [&](tenon_module& module, const std::string& prefix) {
    run_state_save_post_hooks(module, prefix, state);
  });
}

std::string key_list(const std::vector<std::string>& keys) {
  constexpr size_t kMost = 100;
  std::string text;
  for (size_t i = 0; i < std::min(keys.size(), kMost); ++i)
    text += format_text("{}{}\"", text.empty() ? "\"" : ", \"", keys[i]);
  if (keys.size() > kMost) text += format_text(" and {} more", keys.size() - kMost);
  return text;
}

// The state to load, from a file or from memory.
struct Source {
  std::vector<NamedTensor>& tensors;  // hooks may change them
  std::function<std::optional<std::string>(std::string_view kind, std::string_view name)> metadata;
  std::string path;  // empty: in memory
};

// How a state fits a module.
struct Fit {
  LoadReport report;
  std::vector<std::string> mismatched;
  std::vector<std::pair<TensorRef, TensorRef>> copies;       // from the second to the first
  std::vector<std::pair<TensorRef, PayloadRef>> attributes;  // payloads that have the saved ones
};

// A plain file says nothing of types; one that does must mean the same ones.
void compare_types(const StoredTensors& stored, const Source& source, Fit& fit) {
  for (const auto& [key, type] : stored.metadata) {
    if (!key.starts_with(kTypeKey)) continue;
    const std::string name = key.substr(kTypeKey.size());
    const std::string saved = source.metadata(kTypeKey, name).value_or(type);
    if (saved == type) continue;
    fit.mismatched.push_back(format_text(
        "type mismatch for {}: it is a {} in checkpoint, the type in current model is {}.", name,
        saved, type));
  }
  if (!fit.mismatched.empty()) return;
  for (const NamedTensor& own : stored.described) {
    const std::optional<std::string> saved = source.metadata(kAttributesKey, own.name);
    if (saved)
      fit.attributes.emplace_back(own.tensor, payload_with_attributes(*own.tensor, *saved));
  }
}

Fit compare(const StoredTensors& stored, const Source& source) {
  Fit fit;
  std::unordered_map<std::string_view, const NamedTensor*> in_source;
  for (const NamedTensor& saved : source.tensors) in_source.emplace(saved.name, &saved);
  std::unordered_set<std::string_view> known;
  for (const NamedTensor& own : stored.tensors) {
    known.insert(own.name);
    const auto found = in_source.find(own.name);
    if (found == in_source.end()) {
      fit.report.missing.push_back(own.name);
      continue;
    }
    const TensorRef& saved = found->second->tensor;
    fit.copies.emplace_back(own.tensor, saved);
    if (same_shape(own.tensor->shape(), saved->shape())) continue;
    fit.mismatched.push_back(format_text(
        "size mismatch for {}: copying a param with shape {} from checkpoint, the shape in "
        "current model is {}.",
        own.name, shape_text(saved->shape()), shape_text(own.tensor->shape())));
  }
  compare_types(stored, source, fit);
  for (const NamedTensor& saved : source.tensors) {
    if (!known.contains(saved.name)) fit.report.unexpected.push_back(saved.name);
  }
  return fit;
}

void require_fit(const tenon_module& module, const Fit& fit, const Source& source, bool strict) {
  const LoadReport& report = fit.report;
  std::string faults;
  if (strict && !report.missing.empty())
    faults += format_text("\n\tMissing key(s) in state_dict: {}.", key_list(report.missing));
  if (strict && !report.unexpected.empty())
    faults += format_text("\n\tUnexpected key(s) in state_dict: {}.", key_list(report.unexpected));
  for (const std::string& mismatch : fit.mismatched) faults += format_text("\n\t{}", mismatch);
  if (faults.empty()) return;
  if (!source.path.empty()) faults += format_text("\n\tThe file is {}.", quote(source.path));
  throw Error(TENON_ERROR_RUNTIME, "Error(s) in loading state_dict for {}:{}",
              module.type->schema.short_name(), faults);
}

// Exchanges the payloads, so that a second call takes the change back.
void exchange_attributes(Fit& fit) {
  for (auto& [own, payload] : fit.attributes) {
    Payload* const before = own->payload();
    before->retain();
    set_type(*own, own->view.type, payload.get());
    payload.reset(before);
  }
}

void load_values(Fit& fit, uint32_t flags) {
  const UninterruptedGuard whole;
  for (const auto& [own, saved] : fit.copies) {
    const bool assign = (flags & TENON_LOAD_ASSIGN) != 0 && !own->typed() && !saved->typed() &&
                        own->view.dtype == saved->view.dtype;
    if (assign)
      replace_data(*own, *saved);
    else
      copy(*own, *saved);
  }
  exchange_attributes(fit);
}

// Loads, and restores the old state when a hook fails, or leaves keys that do not fit.
void load_with_post_hooks(const tenon_module& root, const std::vector<Visited>& modules, Fit& fit,
                          const Source& source, uint32_t flags) {
  std::vector<TensorRef> before;
  for (const auto& [own, saved] : fit.copies) before.push_back(contiguous_copy(*own));
  load_values(fit, flags);
  try {
    visit_children_first(modules, [&](tenon_module& module, const std::string& prefix) {
      run_state_load_post_hooks(module, prefix, fit.report.missing, fit.report.unexpected);
    });
    require_fit(root, fit, source, (flags & TENON_LOAD_STRICT) != 0);
  } catch (...) {
    const UninterruptedGuard whole;
    for (size_t i = 0; i < before.size(); ++i) copy(*fit.copies[i].first, *before[i]);
    exchange_attributes(fit);
    throw;
  }
}

LoadReport load(tenon_module& module, const Source& source, uint32_t flags) {
  const bool strict = (flags & TENON_LOAD_STRICT) != 0;
  const std::vector<Visited> modules = hooked_modules(module);
  for (const Visited& visited : modules)
    run_state_load_pre_hooks(*visited.module, visited.prefix, source.tensors, strict);
  Fit fit = compare(stored(own_state(module)), source);
  const bool hooked = std::any_of(modules.begin(), modules.end(), [](const Visited& visited) {
    return has_hook(*visited.module, TENON_HOOK_STATE_LOAD_POST);
  });
  // Hooks may take missing and unexpected keys from the report, but not what cannot be copied.
  require_fit(module, fit, source, strict && !hooked);
  if (hooked)
    load_with_post_hooks(module, modules, fit, source, flags);
  else
    load_values(fit, flags);
  return std::move(fit.report);
}

}  // namespace

std::vector<NamedTensor> module_state(tenon_module& module) {
  const std::vector<Visited> modules = hooked_modules(module);
  for (const Visited& visited : modules) run_state_save_pre_hooks(*visited.module, visited.prefix);
  std::vector<NamedTensor> state = own_state(module);
  run_save_hooks(modules, state);
  return state;
}

LoadReport load_state(tenon_module& module, const StateSource& source, uint32_t flags) {
  StoredTensors given = stored({source.tensors.begin(), source.tensors.end()});
  const auto metadata = [&](std::string_view kind,
                            std::string_view name) -> std::optional<std::string> {
    const std::string key = format_text("{}{}", kind, name);
    if (source.metadata != nullptr) {
      const tenon_json* text = source.metadata->find(key);
      if (text != nullptr && text->is_string()) return std::string(text->as_string());
    }
    for (const auto& [own, text] : given.metadata) {
      if (own == key) return text;
    }
    return std::nullopt;
  };
  return load(module, {given.tensors, metadata, source.file}, flags);
}

}  // namespace tenon::core
