// Which copies of weights are kept: of models that are opened and dropped in turn, used in turn, trained.
#include "plugins/dnnl/kept_copies.hpp"

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include <doctest/doctest.h>

namespace {

// A copy is the version that it was made of, of one byte.
class Cache {
 public:
  explicit Cache(int64_t limit) : limit_(limit) {}
  // Whether a copy is there; else it is made.
  bool use(int64_t weight, int64_t version = 0) {
    const onednn::Numbers key = {weight};
    const auto found = kept_.find(key, version);
    if (found.copy != nullptr) {
      CHECK(*found.copy == version);
      return true;
    }
    kept_.insert(key, version, version, 1, found.before, limit_);
    CHECK(kept_.bytes() <= limit_);
    return false;
  }
  // Uses weights, each once; how many copies are there.
  int64_t run(int64_t first, int64_t count, int64_t version = 0) {
    int64_t found = 0;
    for (int64_t weight = first; weight < first + count; ++weight)
      found += use(weight, version) ? 1 : 0;
    return found;
  }
  int64_t bytes() const { return kept_.bytes(); }

 private:
  onednn::KeptCopies<int64_t> kept_;
  const int64_t limit_;
};

}  // namespace

TEST_SUITE("dnnl/kept_copies") {
  TEST_CASE("a copy is kept from the second time on that its weight comes unchanged") {
    Cache cache(10);
    CHECK(!cache.use(1));
    CHECK(cache.bytes() == 0);
    CHECK(!cache.use(1));
    CHECK(cache.use(1));
    CHECK(!cache.use(1, 7));
    CHECK(cache.bytes() == 0);
    CHECK(!cache.use(1, 7));
    CHECK(cache.use(1, 7));
  }

  TEST_CASE("a model is whole in the cache from its third run on, whatever was opened before") {
    for (const int64_t limit : {20, 30, 50, 1000}) {
      CAPTURE(limit);
      Cache cache(limit);
      for (int64_t model = 0; model < 40; ++model) {
        CAPTURE(model);
        const int64_t first = 100 * model, count = 20 - model % 3;
        CHECK(cache.run(first, count) == 0);
        CHECK(cache.run(first, count) == 0);
        for (int run = 0; run < model % 4; ++run) CHECK(cache.run(first, count) == count);
      }
    }
  }

  TEST_CASE("copies of a model that is gone end with the second run of the next one of its size") {
    Cache cache(1000);
    for (int64_t model = 0; model < 40; ++model) {
      cache.run(1000 * model, 20);
      if (model % 2 == 0) cache.run(1000 * model + 100, 80);  // others, which do not come again
      for (int run = 0; run < 3; ++run) cache.run(1000 * model, 20);
      CHECK(cache.bytes() == 20);
    }
  }

  TEST_CASE("of weights that are used in turn, and are more than fit, the first ones stay") {
    Cache cache(6);
    cache.run(0, 10);
    cache.run(0, 10);
    for (int run = 0; run < 20; ++run) CHECK(cache.run(0, 10) == 6);
  }

  TEST_CASE("a weight that comes often takes the place of one that comes seldom") {
    Cache cache(1);
    for (int round = 0; round < 3; ++round) {
      cache.use(1);
      cache.run(100, 10);
    }
    CHECK(cache.use(1));
    CHECK(!cache.use(2));
    CHECK(!cache.use(2));
    CHECK(cache.use(2));
    CHECK(!cache.use(1));
    CHECK(cache.use(2));
  }

  TEST_CASE("models that are used in turn are all kept where they fit") {
    Cache cache(60);
    for (int round = 0; round < 2; ++round) {
      for (int64_t model = 0; model < 3; ++model) cache.run(100 * model, 20);
    }
    for (int round = 0; round < 20; ++round) {
      for (int64_t model = 0; model < 3; ++model) CHECK(cache.run(100 * model, 20) == 20);
    }
  }

  TEST_CASE("models that are used twice in turn are kept as far as they fit") {
    for (const int64_t limit : {40, 39}) {
      CAPTURE(limit);
      Cache cache(limit);
      int64_t found = 0;
      for (int round = 0; round < 20; ++round) {
        for (int run = 0; run < 4; ++run) found += cache.run(run < 2 ? 0 : 100, 20);
      }
      // All of 1600 uses but those of the first two rounds, and some for the weight that does not fit.
      CHECK(found >= (limit == 40 ? 1500 : 1400));
    }
  }

  TEST_CASE("copies of a model that has come back once end as those of others do") {
    Cache cache(1000);
    for (int run = 0; run < 1000; ++run) cache.run(0, 20);
    for (int run = 0; run < 3; ++run) cache.run(100, 20);
    cache.run(0, 20);
    for (int64_t model = 2; model < 12; ++model) {
      for (int run = 0; run < 3; ++run) cache.run(100 * model, 20);
    }
    CHECK(cache.bytes() == 20);
  }

  TEST_CASE("a model that comes back is whole in the cache after one run") {
    Cache cache(1000);
    for (int64_t model = 0; model < 3; ++model) {
      for (int run = 0; run < 4; ++run) cache.run(100 * model, 20);
    }
    CHECK(cache.run(0, 20) == 0);
    CHECK(cache.run(0, 20) == 20);
    CHECK(cache.run(200, 20) == 20);
  }

  // A teacher is used once in each step, the model that it teaches in two evaluations.
  TEST_CASE("a model that changes all the time leaves the copies of one that is used between") {
    Cache cache(1000);
    for (int64_t step = 0; step < 30; ++step) {
      const int64_t teacher = cache.run(0, 20);
      if (step >= 2) CHECK(teacher == 20);
      cache.run(100, 20, 2 * step);
      CHECK(cache.run(100, 20, 2 * step + 1) == 0);
      CHECK(cache.run(100, 20, 2 * step + 1) == 0);
      CHECK(cache.bytes() <= 40);
    }
  }

  TEST_CASE("random weights and versions never get a copy of another version") {
    std::mt19937 bits(41);
    const auto below = [&](int64_t count) { return static_cast<int64_t>(bits()) % count; };
    Cache cache(30);
    std::vector<int64_t> versions(60, 0);
    int64_t found = 0;
    for (int i = 0; i < 20000; ++i) {
      const int64_t weight = std::min(below(60), below(60));
      int64_t& version = versions[static_cast<size_t>(weight)];
      if (below(20) == 0) ++version;
      found += cache.use(weight, version) ? 1 : 0;
    }
    CHECK(found > 6000);
  }
}
