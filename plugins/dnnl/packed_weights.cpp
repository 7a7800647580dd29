// Weights as a primitive reads them, kept while they do not change.
#include "packed_weights.hpp"

#include <array>
#include <atomic>
#include <mutex>

#include <tenon/kernel/one_openmp_thread.hpp>

namespace onednn {

namespace {

using tenon::Tensor;

struct Packed {
  int64_t version;
  Tensor tensor;
  bool of_list;  // whether prepared models alone use its plan
};
// Weights that came once: the last two of each place, of a table that does not grow. Two, so that weights
// which take turns do not drive each other out.
struct Seen {
  uint64_t key = 0;
  int64_t version = 0;
};
struct Weights {
  std::mutex mutex;
  Recent<Packed> recent;
  std::array<std::array<Seen, 2>, 2048> seen;
  std::atomic<int64_t> limit = kKeptBytes;
  uint32_t refused = 0;

  // Whether another copy is kept. Where it takes the place of others only one of several is: weights that
  // are used in turn, and are more than fit, would each be dropped before they come again.
  bool takes(int64_t bytes) {
    constexpr uint32_t turns = 8;
    return recent.units() + bytes <= limit || ++refused % turns == 0;
  }
  // Whether these came before; from now on they have.
  bool came_before(const Numbers& key, int64_t version) {
    const uint64_t hash = HashNumbers()(key);
    auto& [last, other] = seen[hash % seen.size()];
    const auto is_this = [&](const Seen& one) { return one.key == hash && one.version == version; };
    if (is_this(last)) return true;
    const bool before = is_this(other);
    other = std::exchange(last, {hash, version});
    return before;
  }
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
  bool again = false;
  {
    const std::lock_guard lock(all.mutex);
    const Packed* found = all.recent.find(key);
    if (found != nullptr && found->version == version) return found->tensor;
    if (found != nullptr) all.recent.erase(key);  // it is trained: its copy is of no use any more
    again = all.came_before(key, version);
  }
  Tensor packed = packed_copy(bytes, whole, pack);
  if (again) {
    const std::lock_guard lock(all.mutex);
    // Copies that the runs before the list left are of no use any more; a model that runs both ways packs once more.
    if (plan.of_list)
      all.recent.erase_if([&](const Numbers& other, const Packed& copy) {
        return !copy.of_list && other[1] == number;
      });
    if (all.takes(bytes)) all.recent.insert(key, {version, packed, plan.of_list}, bytes, all.limit);
  }
  return packed;
}

}  // namespace onednn
