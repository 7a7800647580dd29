// Checkpoint files.
#include <tenon/autograd.hpp>
#include <tenon/state/tensor_file.hpp>
#include <tenon/training/checkpoint.hpp>

#include "lib/base/format.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

namespace {

constexpr const char* kProgress = "tenon.checkpoint";

const Tensor* find(const NamedTensors& tensors, const std::string& name) {
  for (const auto& [key, tensor] : tensors) {
    if (key == name) return &tensor;
  }
  return nullptr;
}

}  // namespace

void save_checkpoint(const std::string& path, const Checkpoint& checkpoint) {
  state::save_tensors(path, checkpoint.tensors,
                      JsonObject().set(kProgress, checkpoint.progress.dump()).json());
}

Checkpoint load_checkpoint(const std::string& path) {
  const Json progress = state::metadata(path)[kProgress];
  if (!progress.defined()) throw ValueError(lib::format_text("'{}' is not a checkpoint", path));
  return {state::load_tensors(path), Json::parse(progress.text())};
}

NamedTensors module_state(const Module& module, const std::string& prefix) {
  NamedTensors state;
  for (auto& [name, tensor] : module.named_parameters()) state.emplace_back(prefix + name, tensor);
  for (auto& [name, tensor] : module.named_buffers()) state.emplace_back(prefix + name, tensor);
  return state;
}

NamedTensors copied_tensors(const NamedTensors& tensors) {
  const NoGrad no_grad;
  NamedTensors list;
  for (const auto& [name, tensor] : tensors) {
    Tensor copy = empty_tensor(tensor.shape(), tensor.dtype());
    copy_elements(copy, tensor);
    list.emplace_back(name, copy);
  }
  return list;
}

void restore_tensors(const std::string& path, const NamedTensors& saved, const NamedTensors& into,
                     const std::string& prefix) {
  const NoGrad no_grad;
  size_t expected = 0;
  for (const auto& entry : saved) expected += entry.first.compare(0, prefix.size(), prefix) == 0;
  if (expected != into.size())
    throw ValueError(lib::format_text("checkpoint '{}' has {} tensors named '{}...', expected {}",
                                      path, expected, prefix, into.size()));
  for (const auto& [name, tensor] : into) {
    const Tensor* from = find(saved, name);
    if (from == nullptr || from->sizes() != tensor.sizes() || from->dtype() != tensor.dtype())
      throw ValueError(lib::format_text(
          "checkpoint '{}' has no tensor '{}' of the same shape and dtype", path, name));
    copy_elements(tensor, *from);
  }
}

}  // namespace training

TENON_NAMESPACE_END
