// A map that keeps what was used most recently.
#pragma once

#include <cstdint>
#include <iterator>
#include <list>
#include <unordered_map>
#include <utility>
#include <vector>

namespace onednn {

using Numbers = std::vector<int64_t>;

struct HashNumbers {
  size_t operator()(const Numbers& numbers) const {
    uint64_t hash = 0;
    for (const int64_t number : numbers) hash = mixed(hash + static_cast<uint64_t>(number));
    return static_cast<size_t>(hash);
  }

 private:
  // SplitMix64's step: tables take the lowest bits, in which addresses far apart do not differ.
  static uint64_t mixed(uint64_t bits) {
    bits += 0x9e3779b97f4a7c15u;
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
    return bits ^ (bits >> 31);
  }
};

// From lists of numbers to values, each of so many units (entries, bytes). One thread at a time.
template <class Value>
class Recent {
 public:
  // Null when the key is not there; it then counts as used last.
  Value* find(const Numbers& key) {
    const auto found = places_.find(key);
    if (found == places_.end()) return nullptr;
    order_.splice(order_.begin(), order_, found->second);
    return &found->second->value;
  }
  // Replaces what the key has, and drops the entries used longest ago until all that is left has at
  // most `limit` units.
  void insert(const Numbers& key, Value value, int64_t units, int64_t limit) {
    erase(key);
    if (units > limit) return;
    order_.push_front({key, std::move(value), units});
    try {
      places_.emplace(key, order_.begin());
    } catch (...) {
      order_.pop_front();
      throw;
    }
    units_ += units;
    while (units_ > limit) erase(Numbers(order_.back().key));
  }
  void erase(const Numbers& key) {
    const auto found = places_.find(key);
    if (found == places_.end()) return;
    units_ -= found->second->units;
    order_.erase(found->second);
    places_.erase(found);
  }
  // Drops the entries for which `fits(key, value)`.
  template <class Fits>
  void erase_if(const Fits& fits) {
    for (auto entry = order_.begin(); entry != order_.end();) {
      const auto next = std::next(entry);
      if (fits(entry->key, entry->value)) erase(Numbers(entry->key));
      entry = next;
    }
  }
  // Drops the entries for which `fits(key, value)` among the oldest: those used longest ago, as far as
  // `is_old(value)`. Returns the units of the oldest that are left.
  template <class IsOld, class Fits>
  int64_t erase_oldest_if(const IsOld& is_old, const Fits& fits) {
    int64_t left = 0;
    for (auto next = order_.end(); next != order_.begin();) {
      const auto entry = std::prev(next);
      if (!is_old(entry->value)) break;
      if (fits(entry->key, entry->value)) {
        erase(Numbers(entry->key));
      } else {
        left += entry->units;
        next = entry;
      }
    }
    return left;
  }
  int64_t units() const { return units_; }

 private:
  struct Entry {
    Numbers key;
    Value value;
    int64_t units;
  };
  std::list<Entry> order_;
  std::unordered_map<Numbers, typename std::list<Entry>::iterator, HashNumbers> places_;
  int64_t units_ = 0;
};

}  // namespace onednn
