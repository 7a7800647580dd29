// Weights as a primitive reads them, kept while they do not change.
#include "packed_weights.hpp"

#include <atomic>
#include <mutex>

#include <tenon/kernel/one_openmp_thread.hpp>

#include "kept_copies.hpp"

namespace onednn {

namespace {

using tenon::Tensor;

struct Packed {
  Tensor tensor;
  bool of_list;  // whether prepared models alone use its plan
};
struct Weights {
  std::mutex mutex;
  KeptCopies<Packed> kept;
  std::atomic<int64_t> limit = kKeptBytes;
};
// Never destroyed: threads may still compute when the process ends.
Weights& weights() {
  static auto* const all = new Weights;
  return *all;
}

Tensor packed_copy(int64_t bytes, const Tensor& weight, const Pack& pack) {
  const tenon::kernel::OneOpenmpThread serial;
  Tensor packed = tenon::empty_tensor({bytes}, tenon::u8);
  pack(weight.view_record().data, packed.view_record().data);
  return packed;
}

}  // namespace

void set_kept_bytes(int64_t bytes) { weights().limit = bytes; }

bool can_be_kept(const Tensor& weight) {
  return tenon::service::tensors().storage_number(weight.handle()) != 0 &&
         weight.numel() * tenon::element_size(weight.dtype()) <= weights().limit;
}

Tensor packed_weights(const Plan& plan, const Side& side, const Tensor& weight) {
  if (side.is_plain()) return tenon::contiguous_as(weight, weight.dtype());
  return packed_weights(plan, side.packed_bytes(), weight, [&](const void* from, void* to) {
    Scratch scratch(side.scratch_bytes());
    side.run(from, to, scratch.take(side.scratch_bytes()));
  });
}

Tensor packed_weights(const Plan& plan, int64_t bytes, const Tensor& weight, const Pack& pack) {
  const Tensor whole = tenon::contiguous_as(weight, weight.dtype());
  const auto number =
      static_cast<int64_t>(tenon::service::tensors().storage_number(weight.handle()));
  if (!whole.is_same(weight) || number == 0) return packed_copy(bytes, whole, pack);
  const int64_t version = weight.version();
  const Numbers key = {plan.number, number,
                       static_cast<int64_t>(reinterpret_cast<intptr_t>(weight.view_record().data))};
  Weights& all = weights();
  int64_t before = 0;
  {
    const std::lock_guard lock(all.mutex);
    const auto found = all.kept.find(key, version);
    if (found.copy != nullptr) return found.copy->tensor;
    before = found.before;
  }
  Tensor packed = packed_copy(bytes, whole, pack);
  if (before != 0) {
    const std::lock_guard lock(all.mutex);
    // Copies that the runs before the list left are of no use any more; a model that runs both ways packs once more.
    if (plan.of_list)
      all.kept.erase_if([&](const Numbers& other, const Packed& copy) {
        return !copy.of_list && other[1] == number;
      });
    all.kept.insert(key, version, {packed, plan.of_list}, bytes, before, all.limit);
  }
  return packed;
}

}  // namespace onednn
