// Module state in files: saving, and loading with a full report of what does not fit.
#include "core/nn/state.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/components.hpp"
#include "core/nn/walk.hpp"
#include "core/tensor/copy.hpp"
#include "core/tensor/shape.hpp"

namespace tenon::core {

namespace {

StoredTensors stored(const std::vector<NamedTensor>& state) {
  StoredTensors all;
  for (const NamedTensor& own : state) all.add(own.name, own.tensor);
  return all;
}

std::string key_list(const std::vector<std::string>& keys) {
  constexpr size_t kMost = 100;
  std::string text;
  for (size_t i = 0; i < std::min(keys.size(), kMost); ++i)
    text += format_text("{}{}\"", text.empty() ? "\"" : ", \"", keys[i]);
  if (keys.size() > kMost) text += format_text(" and {} more", keys.size() - kMost);
  return text;
}

// What a file or the memory holds.
struct Source {
  const std::vector<NamedTensor>& tensors;
  std::function<std::string(const std::string& name)> type;  // "" where none is said
  std::string path;                                          // empty: in memory
};

LoadReport load(tenon_module& module, const Source& source, bool strict) {
  const StoredTensors stored_own = stored(module_state(module));
  const std::vector<NamedTensor>& state = stored_own.tensors;
  std::unordered_map<std::string_view, const NamedTensor*> in_source;
  for (const NamedTensor& saved : source.tensors) in_source.emplace(saved.name, &saved);
  const auto find = [&](const NamedTensor& own) {
    const auto found = in_source.find(own.name);
    return found == in_source.end() ? nullptr : found->second;
  };
  LoadReport report;
  std::vector<std::string> mismatched;
  for (const NamedTensor& own : state) {
    const NamedTensor* saved = find(own);
    if (saved == nullptr) {
      report.missing.push_back(own.name);
    } else if (!std::equal(own.tensor->shape().begin(), own.tensor->shape().end(),
                           saved->tensor->shape().begin(), saved->tensor->shape().end())) {
      mismatched.push_back(format_text(
          "size mismatch for {}: copying a param with shape {} from checkpoint, the shape in "
          "current model is {}.",
          own.name, shape_text(saved->tensor->shape()), shape_text(own.tensor->shape())));
    }
  }
  std::unordered_set<std::string_view> known;
  for (const NamedTensor& own : state) known.insert(own.name);
  // A plain file says nothing of types; one that does must mean the same ones.
  for (const auto& [key, type] : stored_own.metadata) {
    const std::string name = key.substr(key.find(" of ") + 4);
    const std::string saved = source.type(name);
    if (!saved.empty() && saved != type) {
      mismatched.push_back(format_text(
          "type mismatch for {}: it is a {} in checkpoint, the type in current model is {}.", name,
          saved, type));
    }
  }
  for (const NamedTensor& saved : source.tensors) {
    if (!known.contains(saved.name)) report.unexpected.push_back(saved.name);
  }
  std::string faults;
  if (strict && !report.missing.empty())
    faults += format_text("\n\tMissing key(s) in state_dict: {}.", key_list(report.missing));
  if (strict && !report.unexpected.empty())
    faults += format_text("\n\tUnexpected key(s) in state_dict: {}.", key_list(report.unexpected));
  for (const std::string& mismatch : mismatched) faults += format_text("\n\t{}", mismatch);
  if (!faults.empty()) {
    if (!source.path.empty()) faults += format_text("\n\tThe file is {}.", quote(source.path));
    throw Error(TENON_ERROR_RUNTIME, "Error(s) in loading state_dict for {}:{}",
                module.type->schema.short_name(), faults);
  }
  for (const NamedTensor& own : state) {
    if (const NamedTensor* saved = find(own)) copy(*own.tensor, *saved->tensor);
  }
  return report;
}

}  // namespace

std::vector<NamedTensor> module_state(tenon_module& module) {
  std::vector<NamedTensor> state;
  visit_modules(module, {.recurse = true, .names = true, .duplicates = true},
                [&](tenon_module& entered, const std::string& prefix) {
                  for (const tenon_module::Entry& entry : entered.parameters) {
                    if (entry.tensor) state.push_back({prefix + entry.name, entry.tensor});
                  }
                  for (const tenon_module::Entry& entry : entered.buffers) {
                    if (entry.tensor && entry.persistent)
                      state.push_back({prefix + entry.name, entry.tensor});
                  }
                });
  return state;
}

LoadReport load_state(tenon_module& module, std::span<const NamedTensor> state, bool strict) {
  const StoredTensors given = stored({state.begin(), state.end()});
  const auto type = [&](const std::string& name) {
    for (const auto& [key, text] : given.metadata) {
      if (key.substr(key.find(" of ") + 4) == name) return text;
    }
    return std::string();
  };
  return load(module, {given.tensors, type, ""}, strict);
}

void save_module(tenon_module& module, const std::string& path) {
  const StoredTensors state = stored(module_state(module));
  save_tensors(path, state.tensors, state.metadata);
}

LoadReport load_module(tenon_module& module, const std::string& path, bool strict) {
  const TensorFile file = load_tensors(path);
  const auto type = [&](const std::string& name) { return stored_type(file, name); };
  return load(module, {file.tensors, type, path}, strict);
}

}  // namespace tenon::core
