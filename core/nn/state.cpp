// Module state in files: saving, and loading with a full report of what does not fit.
#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/components.hpp"
#include "core/nn/hooks.hpp"
#include "core/nn/module.hpp"
#include "core/tensor/copy.hpp"
#include "core/tensor/file.hpp"
#include "core/tensor/shape.hpp"

namespace tenon::core {

namespace {

constexpr WalkOptions kEachName{.recurse = true, .names = true, .duplicates = true};

// Under each of their names, shared ones too.
StoredTensors collect(tenon_module& module) {
  StoredTensors state;
  visit_modules(module, kEachName, [&](tenon_module& entered, const std::string& prefix) {
    for (const tenon_module::Entry& entry : entered.parameters) {
      if (entry.tensor) state.add(prefix + entry.name, entry.tensor);
    }
    for (const tenon_module::Entry& entry : entered.buffers) {
      if (entry.tensor && entry.persistent) state.add(prefix + entry.name, entry.tensor);
    }
  });
  return state;
}

// A module of a walk; its prefix begins the names of its members, and those of all below it.
struct Visited {
  ModuleRef module;
  std::string prefix;
};

// Those that may have hooks, parents first. Hooks may change the tree meanwhile.
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

// What hooks put into the state is stored as the module's own tensors are.
void run_save_hooks(const std::vector<Visited>& modules, StoredTensors& state) {
  if (modules.empty()) return;
  std::unordered_set<const Tensor*> stored;
  for (const NamedTensor& entry : state.tensors) stored.insert(entry.tensor.get());
  std::vector<NamedTensor> tensors = std::move(state.tensors);
  visit_children_first(modules, [&](tenon_module& module, const std::string& prefix) {
    run_state_save_post_hooks(module, prefix, tensors);
  });
  state.tensors.clear();
  for (NamedTensor& entry : tensors) {
    if (stored.contains(entry.tensor.get()))
      state.tensors.push_back(std::move(entry));
    else
      state.add(entry.name, entry.tensor);
  }
}

std::string key_list(const std::vector<std::string>& keys) {
  constexpr size_t kMost = 100;
  std::string text;
  for (size_t i = 0; i < std::min(keys.size(), kMost); ++i)
    text += format_text("{}{}\"", text.empty() ? "\"" : ", \"", keys[i]);
  if (keys.size() > kMost) text += format_text(" and {} more", keys.size() - kMost);
  return text;
}

// How a state fits a module.
struct Fit {
  LoadReport report;
  std::vector<std::pair<TensorRef, TensorRef>> copies;  // from the second to the first
};

Fit compare(const StoredTensors& stored, const TensorFile& file) {
  Fit fit;
  std::unordered_map<std::string_view, const NamedTensor*> in_file;
  for (const NamedTensor& saved : file.tensors) in_file.emplace(saved.name, &saved);
  std::unordered_set<std::string_view> known;
  for (const NamedTensor& own : stored.tensors) {
    known.insert(own.name);
    const auto found = in_file.find(own.name);
    if (found == in_file.end()) {
      fit.report.missing.push_back(own.name);
      continue;
    }
    const TensorRef& saved = found->second->tensor;
    fit.copies.emplace_back(own.tensor, saved);
    if (same_shape(own.tensor->shape(), saved->shape())) continue;
    fit.report.mismatched.push_back(format_text(
        "size mismatch for {}: copying a param with shape {} from checkpoint, the shape in "
        "current model is {}.",
        own.name, shape_text(saved->shape()), shape_text(own.tensor->shape())));
  }
  // A plain file says nothing of types; one that does must mean the same ones.
  for (const auto& [key, type] : stored.metadata) {
    const std::string name = key.substr(key.find(" of ") + 4);
    const std::string saved = stored_type(file, name);
    if (!saved.empty() && saved != type) {
      fit.report.mismatched.push_back(format_text(
          "type mismatch for {}: it is a {} in checkpoint, the type in current model is {}.", name,
          saved, type));
    }
  }
  for (const NamedTensor& saved : file.tensors) {
    if (!known.contains(saved.name)) fit.report.unexpected.push_back(saved.name);
  }
  return fit;
}

void require_fit(const tenon_module& module, const LoadReport& report, bool strict) {
  std::string faults;
  if (strict && !report.missing.empty())
    faults += format_text("\n\tMissing key(s) in state_dict: {}.", key_list(report.missing));
  if (strict && !report.unexpected.empty())
    faults += format_text("\n\tUnexpected key(s) in state_dict: {}.", key_list(report.unexpected));
  for (const std::string& mismatch : report.mismatched) faults += format_text("\n\t{}", mismatch);
  if (faults.empty()) return;
  throw Error(TENON_ERROR_RUNTIME, "Error(s) in loading state_dict for {}:{}",
              module.type->schema.short_name(), faults);
}

// What was loaded is taken back when a hook fails, or leaves keys that do not fit.
void load_with_post_hooks(const tenon_module& root, const std::vector<Visited>& modules, Fit& fit,
                          bool strict) {
  std::vector<TensorRef> before;
  for (const auto& [own, saved] : fit.copies) before.push_back(contiguous_copy(*own));
  for (const auto& [own, saved] : fit.copies) copy(*own, *saved);
  try {
    visit_children_first(modules, [&](tenon_module& module, const std::string& prefix) {
      run_state_load_post_hooks(module, prefix, fit.report.missing, fit.report.unexpected);
    });
    require_fit(root, fit.report, strict);
  } catch (...) {
    for (size_t i = 0; i < before.size(); ++i) copy(*fit.copies[i].first, *before[i]);
    throw;
  }
}

}  // namespace

void save_module(tenon_module& module, const std::string& path, FileMetadata metadata) {
  const std::vector<Visited> modules = hooked_modules(module);
  for (const Visited& visited : modules) run_state_save_pre_hooks(*visited.module, visited.prefix);
  StoredTensors state = collect(module);
  run_save_hooks(modules, state);
  metadata.insert(metadata.end(), state.metadata.begin(), state.metadata.end());
  save_tensors(path, state.tensors, metadata);
}

void load_module(tenon_module& module, const std::string& path, bool strict) {
  TensorFile file = load_tensors(path);
  const std::vector<Visited> modules = hooked_modules(module);
  for (const Visited& visited : modules)
    run_state_load_pre_hooks(*visited.module, visited.prefix, file.tensors, strict);
  Fit fit = compare(collect(module), file);
  const bool hooked = std::any_of(modules.begin(), modules.end(), [](const Visited& visited) {
    return has_hook(*visited.module, TENON_HOOK_STATE_LOAD_POST);
  });
  // Hooks may take missing and unexpected keys from the report, but not what cannot be copied.
  require_fit(module, fit.report, strict && !hooked);
  if (hooked)
    load_with_post_hooks(module, modules, fit, strict);
  else
    for (const auto& [own, saved] : fit.copies) copy(*own, *saved);
}

}  // namespace tenon::core
