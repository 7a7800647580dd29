// Interrupts: which calls stop, and what those that change something leave.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <functional>
#include <thread>
#include <vector>

#include <tenon/state/module_state.hpp>

#include "tests/sdk/functions.hpp"
#include "tests/support/emulation.hpp"

using namespace functions;

namespace {

// Twice as long where other processes use the same caches; sanitizers multiply each access.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr double kMostSeconds = 2;
#else
constexpr double kMostSeconds = 0.2;
#endif

constexpr int64_t kMany = 1 << 21;

struct Request {
  Request() { request_interrupt(); }
  ~Request() { clear_interrupt(); }
};

bool all_equal(const Tensor& tensor, float value) {
  const auto* at = tensor.data<float>();
  return std::all_of(at, at + tensor.numel(), [&](float element) { return element == value; });
}

}  // namespace

TEST_SUITE("sdk/interrupt") {
  TEST_CASE("ops of many elements stop with an error that names them, small ones do not look") {
    const Tensor many = ones({kMany}), few = ones({8}), square = ones({300, 300});
    const Request request;
    CHECK((few + few).sum().item() == 16);
    const auto kind = [](auto&& call) { return refusal(call).kind; };
    CHECK(kind([&] { many + many; }) == TENON_ERROR_INTERRUPTED);
    CHECK(kind([&] { many.exp(); }) == TENON_ERROR_INTERRUPTED);
    CHECK(kind([&] { many.sum(); }) == TENON_ERROR_INTERRUPTED);
    CHECK(kind([&] { many.clone(); }) == TENON_ERROR_INTERRUPTED);
    CHECK(kind([&] {
            nn::functional::softmax(many.reshape({2048, 1024}), -1);
          }) == TENON_ERROR_INTERRUPTED);
    CHECK(kind([&] { ones({4096, 600}).mm(ones({600, 4096})); }) == TENON_ERROR_INTERRUPTED);
    try {
      many + many;
    } catch (const InterruptedError& error) {
      CHECK(std::string(error.op()) == "add");
      CHECK(std::string(error.kind_name()) == "InterruptedError");
      CHECK(has(error.what(), "interrupted"));
    }
    clear_interrupt();
    CHECK(all_equal(many + many, 2));
  }

  TEST_CASE("what changes a tensor changes all of it") {
    Tensor x = zeros({kMany});
    const Tensor one = ones({kMany}), strided = zeros({1500, 1500});
    const Tensor across = strided.t();
    {
      const Request request;
      x.add_(one);
      CHECK(all_equal(x, 1));
      x.mul_(3);
      CHECK(all_equal(x, 3));
      add(x, one, 1, x);
      CHECK(all_equal(x, 4));
      across.add_(1);  // not along memory
      CHECK(all_equal(strided, 1));
      x.copy_(one);
      CHECK(all_equal(x, 1));
      x.fill_(7);
      CHECK(all_equal(x, 7));
      copy_elements(x, one);
      CHECK(all_equal(x, 1));
      fill_elements(x, 5);
      CHECK(all_equal(x, 5));
      x.uniform_(2, 3);
      const auto* at = x.data<float>();
      CHECK(std::all_of(at, at + kMany, [](float value) { return value >= 2 && value <= 3; }));
    }
  }

  TEST_CASE(
      "whatever the moment: in-place ops of another thread end, the others are right or raise") {
    Tensor x = zeros({kMany});
    const Tensor one = ones({kMany});
    std::atomic<bool> done{false};
    std::thread other([&] {
      for (int i = 0; !done; ++i) {
        request_interrupt();
        std::this_thread::sleep_for(std::chrono::microseconds(i % 300));
        clear_interrupt();
        std::this_thread::sleep_for(std::chrono::microseconds(i % 700));
      }
    });
    int stopped = 0;
    for (int round = 1; round <= 60; ++round) {
      x.add_(one);
      CHECK(all_equal(x, static_cast<float>(round)));
      try {
        const Tensor sum = x + one;
        CHECK(all_equal(sum, static_cast<float>(round + 1)));
      } catch (const InterruptedError&) {
        ++stopped;
      }
    }
    done = true;
    other.join();
    clear_interrupt();
    MESSAGE(stopped, " of 60 were stopped");
  }

  // Ops that take seconds, in processor time, which other processes do not take part in.
  TEST_CASE("long ops of each kind stop within 100 ms of the request") {
    const Tensor matrix = ones({6000, 6000}), image = ones({96, 64, 56, 56}),
                 filter = ones({64, 64, 3, 3}), line = ones({1, 1, 20000, 64});
    const std::vector<std::function<void()>> calls = {
        [&] { matrix.mm(matrix); },
        [&] { nn::functional::conv2d(image, filter); },
        [&] { nn::functional::scaled_dot_product_attention(line, line, line); },
        [&] { ones({1 << 25}).erfinv(); },
    };
    for (size_t i = 0; i < calls.size(); ++i) {
      CAPTURE(i);
      std::atomic<std::clock_t> requested{0};
      std::thread other([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(60));
        requested = std::clock();
        request_interrupt();
      });
      const tenon_status kind = refusal(calls[i]).kind;
      const std::clock_t stopped = std::clock();
      other.join();
      clear_interrupt();
      CHECK(kind == TENON_ERROR_INTERRUPTED);
      const double seconds = static_cast<double>(stopped - requested.load()) / CLOCKS_PER_SEC;
      // Ops look between blocks, whose size is right for a processor that is not emulated.
      if (!tenon_test::is_emulated()) CHECK(seconds < kMostSeconds * thread_count());
    }
  }

  TEST_CASE("backward adds gradients to all leaves or to none") {
    // Small leaves are added to before and after the large one, in whichever order that is.
    const std::vector<Tensor> leaves = {ones({3}).requires_grad_(), ones({kMany}).requires_grad_(),
                                        ones({3}).requires_grad_()};
    const Tensor y = leaves[0].sum() + leaves[1].sum() + leaves[2].sum();
    const auto all_have = [&](float value) {
      return std::all_of(leaves.begin(), leaves.end(),
                         [&](const Tensor& leaf) { return all_equal(leaf.grad(), value); });
    };
    {
      const Request request;
      CHECK(refusal([&] { y.backward({}, true); }).kind == TENON_ERROR_INTERRUPTED);
      for (const Tensor& leaf : leaves) CHECK_FALSE(leaf.grad().defined());
    }
    y.backward({}, true);
    CHECK(all_have(1));
    // While the gradient of one leaf arrives, before it is added, by a loop that would look.
    for (size_t i = 0; i < leaves.size(); ++i) {
      CAPTURE(i);
      const Hook hook = leaves[i].register_hook([](const Tensor& gradient) {
        request_interrupt();
        return gradient;
      });
      const bool added = refusal([&] { y.backward({}, true, true); }).kind == TENON_OK;
      clear_interrupt();
      hook.remove();
      CHECK(all_have(added ? 2 : 1));
      for (Tensor leaf : leaves) leaf.set_grad(ones(leaf.sizes()));
    }
  }

  TEST_CASE("a state is loaded whole, and tangents change with their tensors") {
    const auto layer = [] {
      return Module::create("Linear", arg("in_features") = 1000, arg("out_features") = 1000);
    };
    const Module from = layer(), to = layer();
    const Tensor x = ones({kMany}), y = full({kMany}, 3, f32);
    const DualLevel level;
    Tensor dual = make_dual(x.clone(), y.clone());
    {
      const Request request;
      state::load_state(to, state::state_of(from));
      dual.mul_(y);
    }
    CHECK(bool(equal(to.tensor("weight"), from.tensor("weight"))));
    CHECK(all_equal(unpack_dual(dual).primal, 3));
    CHECK(all_equal(unpack_dual(dual).tangent, 9));
  }

  TEST_CASE("modules stop before their forward; a scope lets all run to the end") {
    const Module layer = Module::create("Linear", arg("in_features") = 2, arg("out_features") = 2);
    const Tensor x = ones({1, 2}), many = ones({kMany});
    const Request request;
    CHECK(interrupt_requested());
    CHECK(refusal([&] { layer(x); }).kind == TENON_ERROR_INTERRUPTED);
    CHECK(refusal([] { stop_if_interrupted(); }).kind == TENON_ERROR_INTERRUPTED);
    {
      const Uninterrupted whole;
      stop_if_interrupted();
      layer(x);
      CHECK(all_equal(many + many, 2));
      { const Uninterrupted again; }
      CHECK(all_equal(many + many, 2));
    }
    CHECK(refusal([&] { many + many; }).kind == TENON_ERROR_INTERRUPTED);
  }
}
