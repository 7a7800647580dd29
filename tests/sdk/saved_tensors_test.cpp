// Scopes of saved-tensor hooks: packed once, unpacked as often as used, whatever goes wrong.
#include <cmath>
#include <memory>
#include <thread>

#include "tests/sdk/functions.hpp"

namespace {

using namespace functions;

struct Counts {
  int packed = 0, unpacked = 0, alive = 0;
};
// A packed tensor that is counted, kept as plain numbers.
struct Packed {
  std::shared_ptr<Counts> counts;
  std::vector<double> values;
  std::vector<int64_t> shape;
  Packed(std::shared_ptr<Counts> of, const Tensor& tensor)
      : counts(std::move(of)), values(tensor.to_vector<double>()), shape(tensor.sizes()) {
    ++counts->alive;
  }
  Packed(const Packed& other) : counts(other.counts), values(other.values), shape(other.shape) {
    ++counts->alive;
  }
  ~Packed() { --counts->alive; }
};
auto counting(const std::shared_ptr<Counts>& counts) {
  return std::pair{
      [counts](const Tensor& tensor) {
        ++counts->packed;
        return Packed(counts, tensor);
      },
      [counts](const Packed& packed) {
        ++counts->unpacked;
        return from_range(packed.values.begin(), packed.values.end()).reshape(packed.shape);
      }};
}

}  // namespace

TEST_SUITE("sdk/saved_tensors") {
  TEST_CASE("F-211 what is saved is packed once, unpacked at each use, and goes with the graph") {
    const auto counts = std::make_shared<Counts>();
    const Tensor x = leaf({3}), w = leaf({5});
    Tensor y;
    {
      const auto [pack, unpack] = counting(counts);
      const SavedTensorsHooks hooks(pack, unpack);
      y = exp(x * w);  // two operands and a result
    }
    CHECK(counts->packed == 3);
    CHECK(counts->unpacked == 0);
    y.backward({}, true);
    CHECK(counts->unpacked == 3);
    CHECK(x.grad().item() == doctest::Approx(5 * std::exp(15)));
    y.backward();
    CHECK(counts->packed == 3);
    CHECK(counts->unpacked == 6);
    CHECK(counts->alive == 0);
    x* w;  // the scope has ended
    CHECK(counts->packed == 3);
  }

  TEST_CASE("unpacked operands and results keep their history") {
    const auto counts = std::make_shared<Counts>();
    const auto [pack, unpack] = counting(counts);
    const SavedTensorsHooks hooks(pack, unpack);
    for (const char* name : {"cube", "cube_by_result", "cube_vjp"}) {
      CAPTURE(name);
      const Tensor x = leaf({2});
      const Tensor g = gradients({apply(name, x)}, {x}, recorded())[0];
      CHECK(numbers(g) == Numbers{12});
      const Tensor h = gradients({g}, {x}, recorded())[0];
      CHECK(numbers(h) == Numbers{12});
      CHECK(numbers(gradients({h}, {x})[0]) == Numbers{6});
    }
    const Tensor x = leaf({0.5});
    const Tensor g = gradients({tanh(x * 1)}, {x}, recorded())[0];
    const double t = std::tanh(0.5);
    CHECK(gradients({g}, {x})[0].item() == doctest::Approx(-2 * t * (1 - t * t)));
    const Tensor y = styles("cube_keeping").call<Tensor>(x, "save");
    const Tensor again = gradients({y}, {x}, recorded())[0];
    CHECK(has(refusal([&] { gradients({again}, {x}); }).text, "Make it an output"));
  }

  TEST_CASE("the innermost scope is asked, and lists and absent tensors go through") {
    const auto outer = std::make_shared<Counts>(), inner = std::make_shared<Counts>();
    const auto [pack, unpack] = counting(outer);
    const SavedTensorsHooks hooks(pack, unpack);
    const Tensor x = leaf({2});
    {
      const auto [pack_inner, unpack_inner] = counting(inner);
      const SavedTensorsHooks nested(pack_inner, unpack_inner);
      apply("save_nothing", x).backward();
    }
    CHECK(numbers(x.grad()) == Numbers{4});
    CHECK(inner->packed == 1);
    CHECK(outer->packed == 0);
    apply("square_of", x).backward();
    CHECK(outer->packed == 1);
    std::thread([&] { apply("square_of", leaf({1})).backward(); }).join();
    CHECK(outer->packed == 1);  // scopes belong to their thread
    styles("read_once").call<Tensor>(x, false).backward();
    CHECK(outer->packed == 2);
    CHECK(outer->alive == 0);
  }

  TEST_CASE("a pack that changes its tensor is an error, and later calls work") {
    const Tensor x = leaf({2});
    const Tensor y = x * 1;
    {
      const SavedTensorsHooks hooks(
          [](const Tensor& tensor) {
            tensor.mul_(2);
            return tensor;
          },
          [](const Tensor& tensor) { return tensor; });
      CHECK(has(refusal([&] { apply("square_of", y); }).text,
                "A saved tensor pack hook is modifying its input in place"));
    }
    apply("square_of", x).backward();
    CHECK(numbers(x.grad()) == Numbers{4});
  }

  TEST_CASE("whatever pack or unpack throws reaches the caller, and later calls work") {
    const Tensor x = leaf({2});
    {
      const SavedTensorsHooks hooks([](const Tensor&) -> int { throw IndexError("no room"); },
                                    [](int) { return Tensor(); });
      const Refusal refused = refusal([&] { apply("square_of", x); });
      CHECK(refused.kind == TENON_ERROR_INDEX);
      CHECK(refused.text == "square_of(): no room");
    }
    Tensor broken, empty, other;
    {
      const SavedTensorsHooks hooks([](const Tensor&) { return 0; },
                                    [](int) -> Tensor { throw ValueError("disk is gone"); });
      broken = apply("square_of", x);
    }
    {
      const SavedTensorsHooks hooks([](const Tensor&) { return 0; }, [](int) { return Tensor(); });
      empty = apply("square_of", x);
    }
    {
      const SavedTensorsHooks hooks([](const Tensor&) { return 0; },
                                    [](int) { return ones({7}, f64); });
      other = apply("square_of", x);
    }
    CHECK(refusal([&] { broken.backward(); }).text == "disk is gone");
    CHECK(has(refusal([&] { empty.backward(); }).text, "gave no tensor"));
    CHECK(has(refusal([&] { other.backward(); }).text,
              "gave f64 [7] where SquareOfBackward had saved f64 [1]"));
    CHECK_FALSE(x.grad().defined());
    apply("square_of", x).backward();
    CHECK(numbers(x.grad()) == Numbers{4});
  }

  TEST_CASE("where changes are allowed, saved tensors are copies") {
    const Tensor x = leaf({3}), y = x.clone();
    Tensor z;
    {
      const AllowMutationOnSavedTensors allowed;
      z = apply("square_of", y);
    }
    y.add_(1);
    z.backward();
    CHECK(numbers(x.grad()) == Numbers{6});
  }

  TEST_CASE("hooks can be switched off for a scope") {
    const auto open = [] {
      const SavedTensorsHooks hooks([](const Tensor& t) { return t; },
                                    [](const Tensor& t) { return t; });
    };
    {
      const DisableSavedTensorsHooks disabled("not while tracing");
      CHECK(refusal(open).text == "not while tracing");
      apply("square_of", leaf({1})).backward();
    }
    CHECK(refusal(open).kind == TENON_OK);
    const AllowMutationOnSavedTensors scope;
    CHECK(refusal([] { DisableSavedTensorsHooks("too late"); }).text == "too late");
  }
}
