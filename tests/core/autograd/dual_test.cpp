// Levels of forward mode, and tangents that tensors carry while one is open.
#include "core/autograd/forward/dual.hpp"

#include <thread>

#include "tests/core/autograd/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

struct Level {
  Level() { enter_dual_level(); }
  ~Level() { exit_dual_level(); }
};

}  // namespace

TEST_SUITE("autograd/dual") {
  TEST_CASE("a level that is not open cannot be left") {
    CHECK(refusal([] { exit_dual_level(); }, TENON_ERROR_RUNTIME) != "");
    {
      const Level level;
      const Level inner;
    }
    CHECK(refusal([] { exit_dual_level(); }, TENON_ERROR_RUNTIME) != "");
  }

  TEST_CASE("a tensor carries a tangent for each level, and shows that of the present one") {
    const TensorRef primal = floats({1}), first = floats({3}), second = floats({4});
    const Level level;
    const TensorRef outer = make_dual(*primal, *first);
    {
      const Level inner;
      CHECK(tangent_of(*outer) == nullptr);
      const TensorRef both = make_dual(*outer, *second);
      CHECK(tangent_of(*both) == second.get());
      std::vector<Tensor*> seen;
      at_each_level([&] { seen.push_back(tangent_of(*both)); });
      CHECK(seen == std::vector<Tensor*>{first.get(), second.get()});
      CHECK(tangent_of(*without_tangent(*both)) == nullptr);
      at_each_level([&] { seen.push_back(tangent_of(*without_tangent(*outer))); });
      CHECK(seen.back() == nullptr);
      exit_dual_level();
      CHECK(tangent_of(*both) == first.get());
      enter_dual_level();
      CHECK(tangent_of(*both) == nullptr);
    }
    CHECK(tangent_of(*outer) == first.get());
  }

  TEST_CASE("an outer level outlives the inner one, also where a saved copy holds both tangents") {
    const TensorRef primal = floats({1}), first = leaf({3}), second = leaf({4});
    const TensorRef copy = floats({1});
    {
      const Level level;
      const TensorRef outer = make_dual(*primal, *first);
      {
        const Level inner;
        const TensorRef both = make_dual(*outer, *second);
        at_each_level([&] { share_tangent(*both, *copy); });
        CHECK(tangent_of(*copy) == second.get());
      }
      CHECK(second->references == 1);
      CHECK(tangent_of(*copy) == first.get());
    }
    CHECK(first->references == 1);
  }

  TEST_CASE("a level that is opened where the one around is not seen leaves that open") {
    const TensorRef primal = floats({1}), first = floats({3});
    const Level level;
    {
      const SwitchGuard<&ThreadState::dual_level> unseen(nullptr);
      const Level inner;
      CHECK(thread_state.dual_level->outer == nullptr);
    }
    const TensorRef dual = make_dual(*primal, *first);  // the level is alive
    CHECK(tangent_of(*dual) == first.get());
  }

  TEST_CASE("a dual tensor has the data of its primal, and the very tangent") {
    const TensorRef primal = floats({1, 2}), tangent = floats({3, 4});
    const Level level;
    const TensorRef dual = make_dual(*primal, *tangent);
    CHECK(dual->view.data == primal->view.data);
    CHECK(tangent_of(*dual) == tangent.get());
    CHECK(dual->has_flag(TENON_TENSOR_HAS_TANGENT));
    CHECK(tangent_of(*primal) == nullptr);
    CHECK(tangent_of(*without_tangent(*dual)) == nullptr);
  }

  TEST_CASE("a tangent has the shape and the dtype of its primal, while a level is open") {
    const TensorRef primal = floats({1, 2});
    CHECK(refusal([&] { make_dual(*primal, *primal); }, TENON_ERROR_RUNTIME) != "");
    const Level level;
    CHECK_THROWS_AS(make_dual(*primal, *floats({1})), Error);
    CHECK_THROWS_AS(make_dual(*primal, *contiguous_copy(*primal, TENON_F64)), Error);
  }

  TEST_CASE("tangents end with their level") {
    const TensorRef primal = floats({1}), tangent = floats({3});
    TensorRef dual;
    {
      const Level level;
      dual = make_dual(*primal, *tangent);
      CHECK(tangent_of(*dual) == tangent.get());
    }
    CHECK(tangent_of(*dual) == nullptr);
    const Level next;
    CHECK(tangent_of(*dual) == nullptr);
  }

  TEST_CASE("a saved copy holds a tangent with a history until the level ends") {
    const TensorRef primal = floats({1}), tangent = leaf({3}), copy = floats({1});
    {
      const Level level;
      const TensorRef dual = make_dual(*primal, *tangent);
      share_tangent(*dual, *copy);
      CHECK(tangent_of(*copy) == tangent.get());
    }
    CHECK(tangent->references == 1);
  }

  TEST_CASE("a level belongs to its thread") {
    const Level level;
    std::thread([] {
      CHECK(refusal([] { exit_dual_level(); }, TENON_ERROR_RUNTIME) != "");
    }).join();
  }
}
