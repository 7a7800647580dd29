// Parts of parameters, and how they become whole.
#include <algorithm>

#include <tenon/autograd.hpp>
#include <tenon/ops.hpp>
#include <tenon/training/tensor_parallel.hpp>

#include "lib/base/format.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

namespace {

// Along which dimension the parameters of a module are divided; all ranks have the others.
struct Division {
  const char* type;
  const char* member;
  int64_t dim;
  const char* size;  // the attribute that has to be a multiple of the ranks
};
constexpr Division kDivisions[] = {
    {"ColumnParallelLinear", "weight", 0, "out_features"},
    {"ColumnParallelLinear", "bias", 0, "out_features"},
    {"RowParallelLinear", "weight", 1, "in_features"},
};

std::string joined(const std::string& prefix, const std::string& name) {
  return prefix.empty() ? name : prefix + "." + name;
}

// Refuses keys that need whole parameters, or divide batches among ranks.
void require_alone(const DistributedConfig& config) {
  const std::pair<const char*, bool> choices[] = {{"deterministic", config.deterministic},
                                                  {"shard_optimizer", config.shard_optimizer}};
  for (const auto& [key, chosen] : choices) {
    if (!chosen) continue;
    throw ConfigError(lib::format_text(
        "{}: \"{}\" is for ranks that divide batches; remove it, since the model has parallel "
        "modules, whose parameters the ranks divide",
        config.section[key].place(), key));
  }
}

// Only a leaf that requires grad can be assigned; a frozen parameter stops to require it afterwards.
void assign_parameter(Module module, const std::string& name, Tensor tensor) {
  const bool trained = tensor.requires_grad();
  module.assign(name, tensor.requires_grad_());
  tensor.requires_grad_(trained);
}

}  // namespace

TensorParallel::TensorParallel(const Ranks& ranks, const Module& model,
                               const TrainingConfig& config)
    : ranks_(ranks) {
  if (ranks.alone()) return;
  for (const auto& [prefix, module] : model.named_modules()) {
    for (const Division& division : kDivisions) {
      const Tensor whole =
          module.type() == division.type ? module.tensor(division.member) : Tensor();
      if (!whole.defined()) continue;
      if (whole.size(division.dim) % ranks.size() != 0) {
        throw ConfigError(lib::format_text(
            "{}: {} '{}' has {} {}, which {} ranks do not divide; choose a multiple of the ranks",
            config.model.place(), division.type, prefix, division.size, whole.size(division.dim),
            ranks.size()));
      }
      parts_.push_back({joined(prefix, division.member), module, division.member, division.dim,
                        Tensor(), whole.sizes()});
    }
  }
  if (!active()) return;
  require_alone(config.distributed);
  NamedTensors wholes;
  for (const Part& part : parts_)
    wholes.emplace_back(part.name, part.module.tensor(part.member.c_str()));
  ranks_.share(wholes);
  for (size_t i = 0; i < parts_.size(); ++i) {
    const Tensor& whole = wholes[i].second;
    parts_[i].own = own_of(parts_[i], whole).requires_grad_(whole.requires_grad());
  }
  united_ = true;
  divide();
}

const TensorParallel::Part* TensorParallel::find(const std::string& name) const {
  for (const Part& part : parts_) {
    const size_t length = part.name.size();
    // A state of the parameter's is named after it.
    if (name.compare(0, length, part.name) == 0 && (name.size() == length || name[length] == '.'))
      return &part;
  }
  return nullptr;
}

Tensor TensorParallel::gather(const Part& part, const Tensor& own) const {
  const NoGrad no_grad;
  return ranks_.gather_equal(own.detach().transpose(0, part.dim).contiguous())
      .transpose(0, part.dim)
      .contiguous();
}

Tensor TensorParallel::own_of(const Part& part, const Tensor& whole) const {
  const NoGrad no_grad;
  const int64_t size = whole.size(part.dim) / ranks_.size();
  return narrow(whole.detach(), part.dim, ranks_.rank() * size, size).clone();
}

void TensorParallel::unite() {
  if (!active() || united_) return;
  for (const Part& part : parts_) {
    assign_parameter(part.module, part.member,
                     gather(part, part.own).requires_grad_(part.own.requires_grad()));
  }
  united_ = true;
}

void TensorParallel::divide() {
  if (!united_) return;
  const NoGrad no_grad;
  for (const Part& part : parts_) {
    copy_elements(part.own.detach(), own_of(part, part.module.tensor(part.member.c_str())));
    assign_parameter(part.module, part.member, part.own);
  }
  united_ = false;
}

TensorParallel::NamedTensors TensorParallel::united(NamedTensors tensors) const {
  for (auto& [name, tensor] : tensors) {
    const Part* part = find(name.substr(name.find('.') + 1));
    if (part != nullptr && tensor.sizes() == part->own.sizes()) tensor = gather(*part, tensor);
  }
  return tensors;
}

TensorParallel::NamedTensors TensorParallel::divided(NamedTensors tensors) const {
  for (auto& [name, tensor] : tensors) {
    const Part* part = find(name.substr(name.find('.') + 1));
    if (part != nullptr && tensor.sizes() == part->shape) tensor = own_of(*part, tensor);
  }
  return tensors;
}

TensorParallel::NamedTensors TensorParallel::shared(const NamedTensors& tensors) const {
  NamedTensors list;
  for (const auto& named : tensors) {
    if (find(named.first) == nullptr) list.push_back(named);
  }
  return list;
}

void TensorParallel::clip(const GradientClip& clip, const std::vector<Tensor>& parameters) const {
  const NoGrad no_grad;
  struct Gathered {
    const Part* part;
    Tensor own, whole;
  };
  std::vector<Tensor> gradients;
  std::vector<Gathered> gathered;
  for (const Tensor& parameter : parameters) {
    Tensor gradient = parameter.grad();
    if (!gradient.defined()) continue;
    for (const Part& part : parts_) {
      if (!part.own.is_same(parameter)) continue;
      gathered.push_back({&part, gradient, gather(part, gradient)});
      gradient = gathered.back().whole;
    }
    gradients.push_back(gradient);
  }
  clip(gradients);
  for (const Gathered& one : gathered)
    copy_elements(one.own.detach(), own_of(*one.part, one.whole));
}

}  // namespace training

TENON_NAMESPACE_END
