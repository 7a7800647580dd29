// Copies of things that change, kept while they are used: which are worth their memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "recent.hpp"

namespace onednn {

// A copy is kept from the second time on that its key comes with one version: a weight that is trained
// never does. Time is counted in look-ups. A newcomer
// - ends copies that were not used since it came last, and for longer than any of their last two pauses,
//   as those of a model that is gone, also where there is room: two, since models that are used twice in
//   turn have short and long ones;
// - takes the place of others that were not used since it came last: they come less often than it does. Where
//   these are too few it is not kept: keys that come in turn, and are more than fit, would each be dropped
//   before they come again.
// One thread at a time.
template <class Copy>
class KeptCopies {
 public:
  struct Found {
    const Copy* copy;  // null: it must be made; valid until the next call
    int64_t before;    // when the key came last with this version, 0 where it did not
  };
  Found find(const Numbers& key, int64_t version) {
    ++time_;
    if (Kept* const kept = recent_.find(key)) {
      if (kept->version == version) {
        kept->pause_before = std::exchange(kept->pause, time_ - kept->last);
        kept->last = time_;
        return {&kept->copy, kept->last};
      }
      recent_.erase(key);  // versions do not come back
    }
    return {nullptr, came_before(key, version, time_)};
  }
  // Keeps what was made for a key that was found with `before`, in at most `limit` bytes with all others,
  // if it is worth it.
  void insert(const Numbers& key, int64_t version, Copy copy, int64_t bytes, int64_t before,
              int64_t limit) {
    if (before == 0) return;
    const int64_t older = recent_.erase_oldest_if(
        [&](const Kept& kept) { return kept.last < before; },
        [&](const Numbers& other, const Kept& kept) {
          if (time_ - kept.last <= std::max(kept.pause, kept.pause_before)) return false;
          came_before(other, kept.version, kept.last);  // should it come back
          return true;
        });
    if (recent_.units() - older + bytes > limit) return;
    recent_.insert(key, {version, std::move(copy), time_, time_ - before, 0}, bytes, limit);
  }
  // Drops the copies for which `fits(key, copy)`.
  template <class Fits>
  void erase_if(const Fits& fits) {
    recent_.erase_if([&](const Numbers& key, const Kept& kept) { return fits(key, kept.copy); });
  }
  int64_t bytes() const { return recent_.units(); }

 private:
  struct Kept {
    int64_t version;
    Copy copy;
    int64_t last;          // when it was used
    int64_t pause;         // from the use before to that one
    int64_t pause_before;  // and before that
  };
  struct Seen {
    uint64_t key = 0;
    int64_t version = 0, time = 0;
  };

  // When the key came before with this version, 0 where it did not; from now on it has, at `time`.
  int64_t came_before(const Numbers& key, int64_t version, int64_t time) {
    const uint64_t hash = HashNumbers()(key);
    auto& [last, other] = seen_[hash % seen_.size()];
    const auto is_this = [&](const Seen& one) { return one.key == hash && one.version == version; };
    if (is_this(last)) return std::exchange(last.time, time);
    const int64_t before = is_this(other) ? other.time : 0;
    other = std::exchange(last, {hash, version, time});
    return before;
  }

  Recent<Kept> recent_;
  // Keys that came without a copy: the last two of each place, of a table that does not grow. Two, so that
  // keys which take turns do not drive each other out.
  std::array<std::array<Seen, 2>, 2048> seen_;
  int64_t time_ = 0;
};

}  // namespace onednn
