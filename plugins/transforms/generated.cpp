// Functions with generate_batch_rule: forward, backward and jvp run on batched tensors.
//
// The call is made again with operands of the type BatchedOperand, for which the Function is registered once more.
// They hold the samples of all levels in one dimension, in a level of this call alone, which stays alive as long as
// the graph: a backward may come after the vmap. The host records the Function on them; `transforms.values` leads
// from the recorded results back to the tensors inside.
#include <new>
#include <utility>
#include <vector>

#include <tenon/plugin.hpp>
#include <tenon/autograd.hpp>
#include <tenon/ops.hpp>
#include <tenon/override_definition.hpp>
#include <tenon/transforms/batch_rules.hpp>
#include <tenon/type_definition.hpp>

#include "transforms/families.hpp"
#include "transforms/levels.hpp"

using namespace tenon;
using transforms::Batched;
using transforms::Level;

namespace {

// The payload is that of Batched.
struct BatchedOperand {
  static constexpr auto name = "BatchedOperand";
  static constexpr auto doc =
      "A batched tensor as a Function with generate_batch_rule gets it, in a level of its call.";
  static constexpr auto parent = "Batched";
  static constexpr auto decomposes = true;
};

struct BatchValues {
  static constexpr auto schema = "transforms.values(Tensor input) -> Tensor";
  static constexpr auto doc =
      "The elements of all samples, of a batched tensor that a Function was recorded for; of "
      "another tensor a copy.";
  // Its tangents in a vmap are refused: the override for Batched does not see them.
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3]}, "check": {"check_forward_ad": false}}])";
  static constexpr auto twice_differentiable = true;
  static constexpr auto jvp = JvpKind::linear;
  static Tensor forward(Context&, const Tensor& input) { return input.clone(); }
  static Tensor backward(Context&, const Tensor& gradient) { return gradient; }
};

struct BatchValuesOfBatched {
  static constexpr auto schema = BatchValues::schema;
  static constexpr auto types = "Batched";
  static constexpr auto twice_differentiable = true;
  // Declines tensors of a vmap: only those that a Function was recorded for have a history.
  static Results forward(Context& context, const Tensor& input) {
    const Batched& batched = as<Batched>(input);
    if (!tenon_transforms::is_lasting(batched.level)) return Results(not_implemented);
    context.set("level", batched.level);
    return Results(batched.value.detach());
  }
  static Tensor backward(Context& context, const Tensor& gradient) {
    return make<Batched>(gradient, context.get<Level>("level"));
  }
  static Tensor jvp(Context&, const Tensor& tangent) {
    const Batched* const batched = try_as<Batched>(tangent);
    return batched == nullptr ? tangent : batched->value;
  }
};

// Shape of a tensor whose first `count` dimensions become one.
std::vector<int64_t> joined(const Tensor& tensor, int64_t count, int64_t total) {
  std::vector<int64_t> shape{total};
  for (int64_t i = count; i < tensor.dim(); ++i) shape.push_back(tensor.size(i));
  return shape;
}

class Generated {
 public:
  explicit Generated(const tenon_transforms::BatchCall& batch) : batch_(batch) {
    uint32_t randomness = batch.level()->randomness;
    for (const transforms_level* level = batch.level().get(); level != nullptr;
         level = level->outer) {
      sizes_.insert(sizes_.begin(), level->size);
      total_ *= level->size;
      if (level->randomness != randomness)
        randomness = static_cast<uint32_t>(transforms::Randomness::error);
    }
    level_ = tenon_transforms::lasting_level(total_, randomness);
  }

  Results run() {
    tenon_transforms::InnerArguments arguments(batch_);
    for (const tenon_transforms::Operand& operand : batch_.operands())
      arguments.set(operand, operand_of(operand.given));
    Results results = [&] {
      const tenon_transforms::ActiveLevel active(level_.get());
      const tenon_transforms::DrawsSeen seen(level_.get());
      return arguments.call();
    }();
    results.transform([&](const Tensor& result) { return raised(result); });
    return results;
  }

 private:
  Tensor operand_of(const Tensor& given) const {
    const Tensor lowered = transforms::lower(given, batch_.level());
    const Tensor all = reshape(lowered, joined(lowered, count(), total_));
    if (!is_differentiable(all.dtype())) return made(all);
    const Dual dual = unpack_dual(all);
    const Tensor operand = made(dual.primal);
    return dual.tangent.defined() ? make_dual(operand, made(dual.tangent)) : operand;
  }
  Tensor made(const Tensor& value) const {
    void* memory = nullptr;
    tenon_tensor* result = nullptr;
    detail::check(service::types().create, detail::type_id<BatchedOperand>(),
                  static_cast<tenon_dtype>(value.dtype()), value.dim() - 1,
                  value.shape().data() + 1, &memory, &result);
    ::new (memory) Batched{value, level_};
    return Tensor::take(result);
  }

  Tensor raised(const Tensor& result) const {
    Tensor all;
    if (is_differentiable(result.dtype())) {
      const Dual dual = unpack_dual(result);
      all = values(dual.primal);
      if (dual.tangent.defined()) all = make_dual(all, values(dual.tangent));
    } else {
      all = values(result);
    }
    std::vector<int64_t> shape = sizes_;
    for (int64_t i = 1; i < all.dim(); ++i) shape.push_back(all.size(i));
    return transforms::raise(reshape(all, shape), batch_.level());
  }
  Tensor values(const Tensor& tensor) const {
    const Batched* const batched = transforms::batched_by(tensor, level_);
    if (batched != nullptr) return tenon_transforms::value_of(tensor, *batched);
    if (tensor.requires_grad())
      throw NotImplementedError(
          batch_.name() +
          "(): generate_batch_rule: a differentiable result is the same for all samples; make it "
          "of an operand by ops, or write batch");
    return transforms::unbatch(tensor, level_);
  }
  int64_t count() const { return static_cast<int64_t>(sizes_.size()); }

  const tenon_transforms::BatchCall& batch_;
  std::vector<int64_t> sizes_;  // sizes of all levels, the outermost first
  int64_t total_ = 1;
  Level level_;
};

}  // namespace

namespace tenon_transforms {

Tensor value_of(const Tensor& tensor, const Batched& payload) {
  static const Op values("transforms.values");
  const uint32_t own = tensor.view_record().flags & ~payload.value.view_record().flags;
  if ((own & TENON_TENSOR_HAS_TANGENT) != 0) {
    const Dual dual = unpack_dual(tensor);
    const Batched* const tangent = try_as<Batched>(dual.tangent);
    if (tangent != nullptr && tangent->level == payload.level)
      return make_dual(value_of(dual.primal, as<Batched>(dual.primal)), tangent->value);
  }
  return (own & TENON_TENSOR_REQUIRES_GRAD) != 0 ? values.call<Tensor>(tensor) : payload.value;
}

Results run_generated(const BatchCall& batch) { return Generated(batch).run(); }

}  // namespace tenon_transforms

TENON_TYPE(BatchedOperand)
TENON_OP(BatchValues)
TENON_OVERRIDE(BatchValuesOfBatched)
TENON_BATCH_RULES(values, R"(
transforms.values: elementwise
)")
