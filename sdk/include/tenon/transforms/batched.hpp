// Tensors with a hidden batch dimension, which functions under vmap get for their arguments.
//
// sdk/lib/transforms/README.md has the layers. For code that makes other transforms: lower(x) is
// the tensor inside of all active levels, raise(t) the way back.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tenon/call.hpp"
#include "tenon/ops.hpp"
#include "tenon/service.hpp"
#include "tenon/type_definition.hpp"

// Structs of C, as other plugins may be.
// NOLINTBEGIN(readability-identifier-naming, modernize-use-using, modernize-redundant-void-arg)

// One running vmap. Counted; made and ended by the plugin `transforms`. Any thread reads it.
typedef struct transforms_level {
  int64_t references;             /* atomic */
  int64_t depth;                  /* 1 for the outermost of its thread */
  int64_t size;                   /* samples of the batch */
  uint32_t randomness;            // a Randomness
  uint32_t alive;                 /* atomic; 0 once its vmap has returned */
  struct transforms_level* outer; /* the level that was active when it began; may be null */
  /* Frees it, once the last reference is given back. Any thread. */
  void(TENON_CALL* destroy)(struct transforms_level* level);
} transforms_level;

// Named "transforms".
typedef struct transforms_service {
  tenon_service head;  // size and version
  /* Begins a level of `size` samples on the calling thread, the innermost from now on. `randomness` is
   * a Randomness. New reference. Calling thread only. */
  tenon_status(TENON_CALL* begin)(int64_t size, uint32_t randomness, transforms_level** level,
                                  tenon_error** error);
  /* Ends the level; the reference stays the caller's. RuntimeError when it is not the innermost of the
   * thread; it is ended in any case. Calling thread only. */
  tenon_status(TENON_CALL* end)(transforms_level* level, tenon_error** error);
  /* The innermost level of the thread; null outside of vmap. Borrowed. Calling thread only. */
  transforms_level*(TENON_CALL* active)(void);
  /* How the thread's last call with a batched operand ran, and forgets it: "rule", "elementwise", "ops",
   * "loop", "random" or "refused", null where the handler took no call since. `rule` and `provider`: the
   * line of TENON_BATCH_RULES and its plugin, null where there is none. All valid for the life of the
   * process. Since version 2. Calling thread only. */
  void(TENON_CALL* take_last)(const char** how, const char** rule, const char** provider);
} transforms_service;
// NOLINTEND(readability-identifier-naming, modernize-use-using, modernize-redundant-void-arg)

TENON_NAMESPACE_BEGIN
namespace transforms {

TENON_USES_SERVICE(service_table, transforms_service, "transforms", 1)

// Treatment of random ops in a vmap.
enum class Randomness : uint32_t {
  error,     // they are refused
  same,      // all samples get the same numbers
  different  // each sample gets other numbers
};

// A counted reference to a level.
class Level {
 public:
  Level() = default;
  explicit Level(transforms_level* level) noexcept : level_(level) {  // adds a reference
    if (level_ != nullptr) __atomic_fetch_add(&level_->references, 1, __ATOMIC_RELAXED);
  }
  static Level take(transforms_level* level) noexcept {  // takes the reference
    Level taken;
    taken.level_ = level;
    return taken;
  }
  Level(const Level& other) noexcept : Level(other.level_) {}
  Level(Level&& other) noexcept : level_(std::exchange(other.level_, nullptr)) {}
  Level& operator=(Level other) noexcept {
    std::swap(level_, other.level_);
    return *this;
  }
  ~Level() {
    if (level_ != nullptr && __atomic_sub_fetch(&level_->references, 1, __ATOMIC_ACQ_REL) == 0)
      level_->destroy(level_);
  }
  bool defined() const { return level_ != nullptr; }                            // inside of a vmap
  transforms_level* get() const { return level_; }                              // borrowed
  transforms_level* operator->() const { return level_; }                       // its fields
  bool operator==(const Level& other) const { return level_ == other.level_; }  // one vmap
  bool operator!=(const Level& other) const { return level_ != other.level_; }  // another vmap
  // The vmap still runs.
  bool alive() const { return __atomic_load_n(&level_->alive, __ATOMIC_ACQUIRE) != 0; }

 private:
  transforms_level* level_ = nullptr;
};

// The payload of the tensor type `Batched`. `value` has the batch as its first dimension.
struct Batched {
  static constexpr auto name = "Batched";  // name of the type
  // Text of listings.
  static constexpr auto doc =
      "A tensor of each sample of a vmap: it has the shape of one sample, and holds all of them.";
  static constexpr auto decomposes = true;  // composites run their ops
  Tensor value;                             // with the batch dimension
  Level level;                              // vmap that it is in
  static constexpr Component<Batched> components[] = {{"value", &Batched::value}};  // for the host
  // Without the batch.
  IntList shape() const { return {value.shape().data() + 1, value.dim() - 1}; }
  std::string text() const {  // as printed
    return "Batched(level " + std::to_string(level->depth) + ", " + value.text() + ")";
  }
  static Results tenon_function(const Call& call);  // defined by the plugin
};

// The payload where `tensor` is batched by `level`; else null. Valid as long as the tensor.
inline const Batched* batched_by(const Tensor& tensor, const Level& level) {
  const Batched* const payload = try_as<Batched>(tensor);
  return payload != nullptr && payload->level == level ? payload : nullptr;
}

// A batched tensor of the level, from one that has the batch as its dimension `dim`. ValueError when
// that has another size than the level.
inline Tensor batch(const Tensor& value, const Level& level, int64_t dim = 0) {
  const int64_t at = value.wrap_dimension(dim);
  if (value.dim() == 0 || value.size(at) != level->size) {
    detail::throw_message(TENON_ERROR_VALUE,
                          {"a batch of ", level->size, " samples needs that size at dimension ", at,
                           " of a tensor of ", value.dim(), " dimensions, which has ",
                           value.dim() == 0 ? int64_t{0} : value.size(at)});
  }
  return make<Batched>(at == 0 ? value : movedim(value, {at}, {0}), level);
}

// The tensor of the whole batch, which has the batch as its dimension `dim`: an expanded view of a
// tensor that is not batched by the level. It has the history of the elements.
inline Tensor unbatch(const Tensor& tensor, const Level& level, int64_t dim = 0) {
  const Batched* const payload = batched_by(tensor, level);
  Tensor whole;
  if (payload != nullptr) {
    whole = payload->value;
  } else {
    std::vector<int64_t> size = tensor.sizes();
    size.insert(size.begin(), level->size);
    whole = expand(unsqueeze(tensor, 0), size);
  }
  const int64_t at = whole.wrap_dimension(dim);
  return at == 0 ? whole : movedim(whole, {0}, {at});
}

// Whether this program or plugin has begun a vmap. Code that does not need the plugin `transforms`
// otherwise asks it for levels only then, or where a tensor is batched.
inline std::atomic<bool> vmap_began{false};

// The innermost level of this thread; undefined outside of vmap.
inline Level active_level() { return Level(service_table().active()); }

// The tensor inside of the level and those around it, with a dimension in front for each of them, the
// outermost first; one that is not batched is expanded. Without a level the tensor itself.
inline Tensor lower(const Tensor& tensor, const Level& level) {
  return level.defined() ? lower(unbatch(tensor, level), Level(level->outer)) : tensor;
}
// The way back: takes the dimensions of the level and those around it from the front.
inline Tensor raise(const Tensor& tensor, const Level& level) {
  return level.defined() ? batch(raise(tensor, Level(level->outer)), level) : tensor;
}
// Both with all active levels of this thread.
inline Tensor lower(const Tensor& tensor) { return lower(tensor, active_level()); }
// Raises it to the innermost vmap.
inline Tensor raise(const Tensor& tensor) { return raise(tensor, active_level()); }

}  // namespace transforms
TENON_NAMESPACE_END
