// Whatever a callback throws reaches its caller as an error, and leaves the thread as it was.
#include <functional>
#include <new>
#include <stdexcept>

#include <doctest/doctest.h>

#include <tenon/mode.hpp>
#include <tenon/module_hooks.hpp>
#include <tenon/parallel.hpp>
#include <tenon/saved_tensors.hpp>
#include <tenon/tenon.hpp>
#include <tenon/trace.hpp>

using namespace tenon;

namespace {

struct Foreign {};  // no std::exception

const std::vector<std::pair<const char*, std::function<void()>>> kThrows = {
    {"no luck", [] { throw std::runtime_error("no luck"); }},
    {"a value", [] { throw ValueError("a value"); }},
    {"", [] { throw Foreign(); }},
    {"", [] { throw 42; }},
    {"", [] { throw std::bad_alloc(); }},
};

// The body throws an Error with the text, and afterwards all is as it was.
void check_error(const std::string& text, const std::function<void()>& body) {
  CAPTURE(text);
  bool thrown = false;
  try {
    body();
  } catch (const Error& error) {
    thrown = true;
    CHECK(std::string(error.what()).find(text) != std::string::npos);
  }
  CHECK(thrown);
  const Tensor x = tensor({2.0}).requires_grad_();
  (x * x).sum().backward();
  CHECK(x.grad().text() == "tensor([4.])");
}

}  // namespace

TEST_SUITE("handlers") {
  TEST_CASE("hooks of tensors, nodes and modules") {
    for (const auto& entry : kThrows) {
      const auto& text = entry.first;
      const auto& raise = entry.second;
      const auto each = [&](auto&& attach) {
        const Tensor x = tensor({1.0}).requires_grad_();
        const Tensor y = (x * 2.0).sum();
        const auto hook = attach(x, y);
        check_error(text, [&] { y.backward(); });
      };
      each([&](const Tensor& x, const Tensor&) {
        return x.register_hook([&](const Tensor& gradient) {
          raise();
          return gradient;
        });
      });
      each([&](const Tensor& x, const Tensor&) {
        return x.register_post_accumulate_grad_hook([&](const Tensor&) { raise(); });
      });
      Module linear = Module::create("Linear", arg("in_features") = 1, arg("out_features") = 1);
      {
        const Hook hook =
            linear.register_forward_hook([&](const Module&, const Tensor&, const Tensor& output) {
              raise();
              return output;
            });
        check_error(text, [&] { linear(ones({1, 1})); });
        hook.remove();
      }
      const Hook hook = linear.register_full_backward_hook(
          [&](const Module&, const std::vector<Tensor>& gradients, const std::vector<Tensor>&) {
            raise();
            return gradients[0];
          });
      const Tensor output = linear(ones({1, 1}).requires_grad_()).sum();
      check_error(text, [&] { output.backward(); });
      hook.remove();
    }
  }

  TEST_CASE("loops, on whichever thread they run") {
    for (const auto& [text, raise] : kThrows) {
      for (const int64_t failing : {int64_t{0}, int64_t{57}, int64_t{99}}) {
        check_error(text, [&, raise = raise] {
          parallel_for(0, 100, 1, [&](int64_t begin, int64_t end) {
            if (begin <= failing && failing < end) raise();
          });
        });
      }
    }
  }

  TEST_CASE("hooks of saved tensors") {
    for (const auto& [text, raise] : kThrows) {
      const Tensor x = tensor({3.0}).requires_grad_();
      check_error(text, [&, raise = raise] {
        const SavedTensorsHooks hooks(
            [&](const Tensor& tensor) {
              raise();
              return tensor;
            },
            [](const Tensor& tensor) { return tensor; });
        (x * x).sum();
      });
      Tensor y;
      {
        const SavedTensorsHooks hooks([](const Tensor& tensor) { return tensor; },
                                      [raise = raise](const Tensor& tensor) {
                                        raise();
                                        return tensor;
                                      });
        y = (x * x).sum();
      }
      check_error(text, [&] { y.backward(); });
    }
  }
}
