#include "transforms/batch_call.hpp"

#include <algorithm>
#include <utility>

#include <tenon/autograd.hpp>
#include <tenon/ops.hpp>

namespace tenon_transforms {

using namespace tenon;

BatchCall::BatchCall(const tenon_call& call, const OpPlan& plan, Level level)
    : call_(call), plan_(plan), level_(std::move(level)) {
  const auto add = [&](size_t parameter, int64_t element, tenon_tensor* handle) {
    if (handle == nullptr) return;
    Operand operand{parameter, element, Tensor::borrow(handle), {}, false};
    const Batched* const payload = try_as<Batched>(operand.given);
    operand.batched = payload != nullptr && payload->level == level_;
    if (operand.batched) {
      operand.inner = value_of(operand.given, *payload);
    } else if (payload != nullptr) {
      // Another handle: a call on the one of this call would count as endless recursion.
      operand.inner = make<Batched>(payload->value, payload->level);
    } else {
      operand.inner = operand.given;
    }
    operands_.push_back(std::move(operand));
  };
  for (size_t i = 0; i < static_cast<size_t>(call.argument_count); ++i) {
    const tenon_value& value = call.arguments[i];
    if (static_cast<int>(i) == plan.out) continue;
    if (value.tag == TENON_VALUE_TENSOR) add(i, -1, value.as.tensor);
    for (uint32_t k = 0; value.tag == TENON_VALUE_TENSOR_LIST && k < value.length; ++k)
      add(i, k, value.as.tensors[k]);
  }
}

const Operand* BatchCall::operand(size_t parameter) const {
  for (const Operand& operand : operands_) {
    if (operand.parameter == parameter && operand.element < 0) return &operand;
  }
  return nullptr;
}

bool BatchCall::batched(size_t parameter) const {
  for (const Operand& operand : operands_) {
    if (operand.parameter == parameter && operand.batched) return true;
  }
  return false;
}

void BatchCall::check_changes() const {
  if (!plan_.changes) return;
  for (const Operand& operand : operands_) {
    const OpParameter& parameter = plan_.parameters[operand.parameter];
    if (!parameter.mutates || operand.batched) continue;
    throw TypeError(name() + "(): vmap: '" + parameter.name +
                    "' is changed in place and is not batched, but another operand is: its "
                    "samples would not fit into it; call the op without the '_', or make it of a "
                    "batched tensor");
  }
}

Tensor BatchCall::whole(const Operand& operand) const {
  if (operand.batched) return operand.inner;
  return expand(unsqueeze(operand.inner, 0), with_batch(size(), operand.inner.shape()));
}

InnerArguments::InnerArguments(const BatchCall& batch)
    : batch_(batch),
      values_(batch.call().arguments, batch.call().arguments + batch.call().argument_count),
      lists_(values_.size()) {
  if (batch.plan().out >= 0) values_[static_cast<size_t>(batch.plan().out)] = tenon_value{};
  for (const Operand& operand : batch.operands()) set(operand, operand.inner);
}

void InnerArguments::set(const Operand& operand, const Tensor& tensor) {
  tenon_value& value = values_[operand.parameter];
  if (operand.element < 0) {
    tensors_.push_back(tensor);
    value = Argument(tensors_.back()).value();
    return;
  }
  std::vector<Tensor>& list = lists_[operand.parameter];
  if (list.empty()) list.resize(batch_.argument(operand.parameter).length);
  list[static_cast<size_t>(operand.element)] = tensor;
  value = Argument(list).value();
}
void InnerArguments::set(size_t parameter, std::vector<int64_t> list) {
  integers_.push_back(std::move(list));
  values_[parameter] = Argument(integers_.back()).value();
}
void InnerArguments::set(size_t parameter, int64_t number) {
  values_[parameter] = Argument(number).value();
}

Results InnerArguments::call() {
  Results results = Results::of_count(batch_.plan().result_count);
  detail::check(service::ops().call, batch_.plan().op, values_.data(),
                static_cast<int64_t>(values_.size()), results.slots());
  return results;
}

namespace {

bool has_tangent(const Tensor& tensor) {
  tenon_tensor *primal = nullptr, *tangent = nullptr;
  if (service::autograd().dual_unpack(tensor.handle(), &primal, &tangent, nullptr) != TENON_OK)
    return false;
  Tensor::take(primal);
  return Tensor::take(tangent).defined();
}
// A result beside others may not depend on the operands. A tangent of zeros says so: without one the host takes
// it for lost.
Tensor with_tangent(const BatchCall& batch, const Tensor& whole) {
  if (batch.plan().result_count < 2 || !is_differentiable(whole.dtype())) return whole;
  const bool any = std::any_of(batch.operands().begin(), batch.operands().end(),
                               [](const Operand& operand) { return has_tangent(operand.inner); });
  return any && !has_tangent(whole) ? make_dual(whole, zeros_like(whole).detach()) : whole;
}

}  // namespace

Results wrap_results(const BatchCall& batch, Results results, const std::string& rule) {
  const int64_t count = batch.plan().result_count;
  const auto wrong = [&](int64_t i, const std::string& what) {
    return "the batch rule '" + rule + "' of " + batch.name() + " gives result " +
           std::to_string(i) + " " + what + "; fix the rule";
  };
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t tag = results.slots()[i].tag;
    if (tag != TENON_VALUE_TENSOR && tag != TENON_VALUE_TENSOR_LIST && tag != TENON_VALUE_NONE)
      throw TypeError(batch.name() + "(): vmap: the op gives one " +
                      detail::kind_text(results.slots()[i]) +
                      ", which differs between samples; compute it with ops that give tensors");
  }
  int64_t index = 0;
  results.transform([&](const Tensor& whole) {
    const int64_t i = index++;
    if (whole.dim() == 0 || whole.size(0) != batch.size())
      throw ValueError(wrong(
          i, "with " +
                 (whole.dim() == 0 ? std::string("no dimension")
                                   : std::to_string(whole.size(0)) + " at its first dimension") +
                 ", expected the batch of " + std::to_string(batch.size())));
    return make<Batched>(with_tangent(batch, whole), batch.level());
  });
  return results;
}

std::vector<int64_t> with_batch(int64_t size, IntList shape) {
  std::vector<int64_t> whole{size};
  whole.insert(whole.end(), shape.begin(), shape.end());
  return whole;
}

Tensor widened(Tensor tensor, int64_t count) {
  for (; count > 0; --count) tensor = unsqueeze(tensor, 1);
  return tensor;
}

}  // namespace tenon_transforms
