// Rollback of a step that is interrupted before its optimizer runs: the generator, buffers and
// gradients.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <tenon/autograd.hpp>
#include <tenon/module.hpp>
#include <tenon/parallel.hpp>

TENON_NAMESPACE_BEGIN

namespace training {

class StepRollback {
 public:
  StepRollback(Module model, std::vector<Tensor> parameters)
      : model_(std::move(model)), parameters_(std::move(parameters)) {}

  // A step begins. Copies the buffers that have changed since the last one.
  void begin() {
    const Uninterrupted whole;
    draws_ = generator_state();
    const NoGrad no_grad;
    auto buffers = model_.named_buffers();
    kept_.resize(buffers.size());
    for (size_t i = 0; i < buffers.size(); ++i) {
      auto& [name, tensor] = buffers[i];
      Kept& kept = kept_[i];
      if (!kept.tensor.defined() || !kept.tensor.is_same(tensor))
        kept = {std::move(name), tensor, empty_tensor(tensor.shape(), tensor.dtype())};
      if (kept.version == tensor.version()) continue;
      copy_elements(kept.copy, tensor);
      kept.version = tensor.version();
    }
  }

  // The step is interrupted.
  void restore() {
    const Uninterrupted whole;
    const NoGrad no_grad;
    set_generator_state(draws_);
    for (Kept& kept : kept_) {
      if (!model_.tensor(kept.name.c_str()).is_same(kept.tensor)) put_back(kept);
      if (kept.tensor.version() != kept.version) copy_elements(kept.tensor, kept.copy);
      kept.version = kept.tensor.version();
    }
    for (Tensor& parameter : parameters_) parameter.set_grad({});
  }

 private:
  struct Kept {
    std::string name;
    Tensor tensor, copy;
    int64_t version = -1;  // version of `tensor` when it was copied
  };

  // The module that has it assigns it.
  void put_back(const Kept& kept) {
    const size_t dot = kept.name.rfind('.');
    if (dot == std::string::npos) return model_.assign(kept.name, kept.tensor);
    for (auto& [name, module] : model_.named_modules(false)) {
      if (name.size() == dot && kept.name.compare(0, dot, name) == 0)
        module.assign(kept.name.substr(dot + 1), kept.tensor);
    }
  }

  Module model_;
  std::vector<Tensor> parameters_;
  Draws draws_;
  std::vector<Kept> kept_;
};

}  // namespace training

TENON_NAMESPACE_END
