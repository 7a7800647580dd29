// Module state in files: saving, and loading with a full report of what does not fit.
#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/components.hpp"
#include "core/nn/module.hpp"
#include "core/tensor/copy.hpp"
#include "core/tensor/file.hpp"
#include "core/tensor/shape.hpp"

namespace tenon::core {

namespace {

// Under each of their names, shared ones too.
StoredTensors collect(tenon_module& module) {
  StoredTensors state;
  visit_modules(module, {.recurse = true, .names = true, .duplicates = true},
                [&](tenon_module& entered, const std::string& prefix) {
                  for (const tenon_module::Entry& entry : entered.parameters) {
                    if (entry.tensor) state.add(prefix + entry.name, entry.tensor);
                  }
                  for (const tenon_module::Entry& entry : entered.buffers) {
                    if (entry.tensor && entry.persistent)
                      state.add(prefix + entry.name, entry.tensor);
                  }
                });
  return state;
}

std::string key_list(const std::vector<std::string>& keys) {
  constexpr size_t kMost = 100;
  std::string text;
  for (size_t i = 0; i < std::min(keys.size(), kMost); ++i)
    text += format_text("{}{}\"", text.empty() ? "\"" : ", \"", keys[i]);
  if (keys.size() > kMost) text += format_text(" and {} more", keys.size() - kMost);
  return text;
}

}  // namespace

void save_module(tenon_module& module, const std::string& path, FileMetadata metadata) {
  const StoredTensors state = collect(module);
  metadata.insert(metadata.end(), state.metadata.begin(), state.metadata.end());
  save_tensors(path, state.tensors, metadata);
}

void load_module(tenon_module& module, const std::string& path, bool strict) {
  const StoredTensors stored = collect(module);
  const std::vector<NamedTensor>& state = stored.tensors;
  const TensorFile file = load_tensors(path);
  std::unordered_map<std::string_view, const NamedTensor*> in_file;
  for (const NamedTensor& saved : file.tensors) in_file.emplace(saved.name, &saved);
  const auto find = [&](const NamedTensor& own) {
    const auto found = in_file.find(own.name);
    return found == in_file.end() ? nullptr : found->second;
  };
  LoadReport report;
  for (const NamedTensor& own : state) {
    const NamedTensor* saved = find(own);
    if (saved == nullptr) {
      report.missing.push_back(own.name);
    } else if (!std::equal(own.tensor->shape().begin(), own.tensor->shape().end(),
                           saved->tensor->shape().begin(), saved->tensor->shape().end())) {
      report.mismatched.push_back(format_text(
          "size mismatch for {}: copying a param with shape {} from checkpoint, the shape in "
          "current model is {}.",
          own.name, shape_text(saved->tensor->shape()), shape_text(own.tensor->shape())));
    }
  }
  std::unordered_set<std::string_view> known;
  for (const NamedTensor& own : state) known.insert(own.name);
  // A plain file says nothing of types; one that does must mean the same ones.
  for (const auto& [key, type] : stored.metadata) {
    const std::string name = key.substr(key.find(" of ") + 4);
    const std::string saved = stored_type(file, name);
    if (!saved.empty() && saved != type) {
      report.mismatched.push_back(format_text(
          "type mismatch for {}: it is a {} in checkpoint, the type in current model is {}.", name,
          saved, type));
    }
  }
  for (const NamedTensor& saved : file.tensors) {
    if (!known.contains(saved.name)) report.unexpected.push_back(saved.name);
  }
  std::string faults;
  if (strict && !report.missing.empty())
    faults += format_text("\n\tMissing key(s) in state_dict: {}.", key_list(report.missing));
  if (strict && !report.unexpected.empty())
    faults += format_text("\n\tUnexpected key(s) in state_dict: {}.", key_list(report.unexpected));
  for (const std::string& mismatch : report.mismatched) faults += format_text("\n\t{}", mismatch);
  if (!faults.empty()) {
    throw Error(TENON_ERROR_RUNTIME, "Error(s) in loading state_dict for {}:{}",
                module.type->schema.short_name(), faults);
  }
  for (const NamedTensor& own : state) {
    if (const NamedTensor* saved = find(own)) copy(*own.tensor, *saved->tensor);
  }
}

}  // namespace tenon::core
