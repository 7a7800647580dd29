// Checkpoint files, and weights that are not lost.
#include <filesystem>
#include <unistd.h>

#include <tenon/autograd.hpp>
#include <tenon/state/module_file.hpp>
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

void save_weights(const Module& module, const std::string& path, const Json& metadata) {
  try {
    return state::save(module, path, metadata);
  } catch (const IOError& error) {
    namespace files = std::filesystem;
    std::error_code code;
    const std::string name =
        lib::format_text("{}.{}", files::path(path).filename().string(), getpid());
    for (const files::path& folder :
         {files::temp_directory_path(code), files::current_path(code), files::path("/dev/shm")}) {
      const std::string kept = folder / name;
      try {
        state::save(module, kept, metadata);
      } catch (const IOError&) {
        continue;
      }
      throw IOError(lib::format_text("{}; the weights are kept in '{}'", error.what(), kept));
    }
    throw;
  }
}

void load_weights(Module& model, const std::string& path) {
  try {
    state::load(model, path);
  } catch (const RuntimeError& error) {
    throw RuntimeError(lib::format_text("'{}' does not fit the model: {}", path, error.what()));
  }
}

}  // namespace training

TENON_NAMESPACE_END
