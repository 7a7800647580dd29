// Kernels that run after their call has returned, and their errors: by the plugin sim.
#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <doctest/doctest.h>
#include <sys/wait.h>

#include <tenon/device.hpp>
#include <tenon/interrupt.hpp>
#include <tenon/tenon.hpp>
#include <tenon/trace.hpp>

#include "plugins/sim/control.h"

using namespace tenon;

namespace {

Tensor on_sim(const Tensor& tensor) { return device::to(tensor, "sim:0"); }
void synchronize() { device::synchronize(device::Device("sim:0")); }

template <class Body>
std::string error_of(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}
bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

const sim_control_service& control() {
  static const Service<sim_control_service> service("sim.control", SIM_CONTROL_VERSION);
  return *service;
}

// The next kernel fails.
Tensor failing(const Tensor& a, const Tensor& b) {
  control().fail_kernel(0);
  return mm(a, b);
}

// As long as it lives one kernel of eight begins after a wait of up to 40 ms.
class Slow {
 public:
  Slow() { control().delay_kernels(40'000, 3); }
  ~Slow() { control().delay_kernels(200, 1); }
  Slow(const Slow&) = delete;
  Slow& operator=(const Slow&) = delete;
};

int64_t used_bytes(const char* name) {
  const device::Device device(name);
  int64_t used = 0, total = 0;
  call_slot(device.service()->memory, device.index(), &used, &total);
  return used;
}

}  // namespace

TEST_SUITE("device/late") {
  TEST_CASE("a kernel of a queue runs after its call has returned") {
    synchronize();
    const Tensor x = on_sim(ones({2, 2}));
    const Slow slow;
    const int64_t before = control().kernels();
    Tensor y = x;
    for (int i = 0; i < 100; ++i) y = y + 1;
    CHECK(control().kernels() < before + 100);
    CHECK(y.to_vector<float>() == std::vector<float>(4, 101));
    CHECK(control().kernels() == before + 100);
  }

  TEST_CASE("an error that arrives late names the call that made the result, at its first use") {
    const Tensor y = failing(on_sim(ones({2, 3})), on_sim(ones({3, 4})));
    const std::string text = error_of([&] {
      const Tensor z = y + 1;  // refused where the error is known, else it does not run
      z.to_vector<float>();
    });
    CHECK(contains(text, "sim:0 fails this kernel"));
    CHECK(contains(text, "It arrived late, from mm(f32[2, 3], f32[3, 4]) on sim:0"));
    CHECK(contains(text, "called from "));
    CHECK(contains(text, "tenon_device_tests"));
  }

  TEST_CASE("a use that comes after the error is refused in its call") {
    const Tensor y = failing(on_sim(ones({2, 3})), on_sim(ones({3, 4})));
    CHECK_THROWS_AS(y.item(), Error);
    CHECK_THROWS_AS(y.to_vector<float>(), RuntimeError);
    CHECK(contains(error_of([&] { y + 1; }), "from mm(f32[2, 3]"));
    CHECK(contains(error_of([&] { relu(y); }), "from mm(f32[2, 3]"));
    CHECK(contains(error_of([&] { device::to(y, "sim:1"); }), "from mm(f32[2, 3]"));
    CHECK(contains(error_of([&] { y.text(); }), "from mm(f32[2, 3]"));
  }

  TEST_CASE("synchronize raises an error whose result nothing has used, once") {
    synchronize();
    static_cast<void>(failing(on_sim(ones({2, 3})), on_sim(ones({3, 4}))));
    CHECK(contains(error_of(synchronize), "from mm(f32[2, 3], f32[3, 4])"));
    CHECK(error_of(synchronize) == "no error");
    const Tensor y = failing(on_sim(ones({2, 3})), on_sim(ones({3, 4})));
    CHECK_THROWS_AS(y.to_vector<float>(), RuntimeError);
    CHECK(error_of(synchronize) == "no error");
  }

  TEST_CASE("what does not depend on a failed kernel is there") {
    const Tensor x = on_sim(ones({2, 2}));
    const Tensor y = failing(x, x);
    const Tensor z = x * 3;
    CHECK(z.to_vector<float>() == std::vector<float>(4, 3));
    CHECK_THROWS_AS(y.to_vector<float>(), RuntimeError);
  }

  TEST_CASE(
      "a tensor that a failed kernel should have changed has the error, until it is written "
      "again") {
    const Tensor x = on_sim(ones({2, 2})), row = x[1];
    synchronize();
    control().fail_kernel(0);
    x.mul_(tensor(2.));
    CHECK(contains(error_of([&] { row.to_vector<float>(); }), "from mul_(f32[2, 2]"));
    x.copy_(full({2, 2}, 5.));
    CHECK(row.to_vector<float>() == std::vector<float>{5, 5});
    CHECK((x + 1).to_vector<float>() == std::vector<float>(4, 6));
  }

  TEST_CASE(
      "where an operand to be changed has failed, results and other changed operands have it") {
    const Op op("nn.functional.batch_norm");
    const Tensor x = on_sim(tensor({{1., 2.}, {3., 6.}})), variances = on_sim(ones({2}));
    synchronize();
    const Slow slow;  // most calls are made before the failure is known
    const Tensor means = failing(on_sim(ones({1, 3})), on_sim(ones({3, 2})))[0];
    Tensor y;
    const std::string refused =
        error_of([&] { y = op.call<Tensor>(x, means, variances, arg("training") = true); });
    if (!y.defined()) {
      CHECK(contains(refused, "from mm(f32[1, 3]"));
      CHECK(variances.to_vector<float>() == std::vector<float>{1, 1});
      return;
    }
    CHECK(contains(error_of([&] { y.to_vector<float>(); }), "from mm(f32[1, 3]"));
    CHECK(contains(error_of([&] { variances.to_vector<float>(); }), "from mm(f32[1, 3]"));
    CHECK(contains(error_of([&] { means.to_vector<float>(); }), "from mm(f32[1, 3]"));
  }

  TEST_CASE("an op that only writes runs once: in the call, or later where it is elementwise") {
    const Tensor x = on_sim(ones({3})), gradient = on_sim(ones({3}));
    const Tensor momentum = on_sim(zeros({3}));
    const auto kernels_in_call = [](const auto& call) {
      const TraceScope trace;
      call();
      return std::count_if(trace.lines().begin(), trace.lines().end(),
                           [](const std::string& line) { return contains(line, "kernel "); });
    };
    CHECK(kernels_in_call([&] { x.mul_(tensor(2.)); }) == 0);
    CHECK(kernels_in_call([&] {
            Op("optim.sgd_step_")(x, gradient, momentum, arg("learning_rate") = 0.5,
                                  arg("momentum") = 0.9);
          }) == 1);
    CHECK(x.to_vector<float>() == std::vector<float>(3, 1.5));
  }

  TEST_CASE("an error within backward arrives at the gradient") {
    Tensor x = on_sim(ones({2, 2}));
    x.requires_grad_();
    const Tensor loss = sum(exp(x) * x);
    synchronize();
    control().fail_kernel(1);
    const std::string text = error_of([&] {
      loss.backward();
      x.grad().to_vector<float>();
    });
    CHECK(contains(text, "It arrived late, from "));
    CHECK(loss.item() > 0);
    CHECK(x.to_vector<float>() == std::vector<float>(4, 1));
  }

  TEST_CASE("errors of values arrive late as well, with their kind") {
    const Tensor x = on_sim(ones({3}));
    const Tensor y = index_select(x, 0, device::to(tensor({7}), "sim:0"));
    CHECK_THROWS_AS(y.to_vector<float>(), IndexError);
    CHECK(contains(error_of([&] { y.to_vector<float>(); }), "index_select"));
  }

  TEST_CASE("errors of shapes are those of the call") {
    const Tensor a = on_sim(ones({2, 3}));
    CHECK_THROWS_AS(mm(a, a), ValueError);
    CHECK_THROWS_AS(a.copy_(on_sim(ones({4}))), ValueError);
    CHECK_THROWS_AS(a.mul_(on_sim(ones({4}))), ValueError);
    Tensor parameter = on_sim(ones({3}));
    CHECK_THROWS_AS(Op("optim.sgd_step_")(parameter, on_sim(ones({4})), arg("learning_rate") = 0.1),
                    ValueError);
    CHECK_THROWS_AS(Op("sum")(a, arg("out") = on_sim(ones({4}))), ValueError);
    CHECK(error_of(synchronize) == "no error");
  }

  TEST_CASE("memory stays until queued kernels have used it") {
    const int64_t before = used_bytes("sim:0");
    const Slow slow;
    Tensor sum_of_all = on_sim(zeros({1000}));
    for (int i = 0; i < 20; ++i) sum_of_all = sum_of_all + on_sim(full({1000}, 1.));
    CHECK(used_bytes("sim:0") == before + 4000);
    CHECK(sum_of_all.to_vector<float>() == std::vector<float>(1000, 20));
  }

  TEST_CASE("an allocation waits for memory that queued kernels still use") {
    synchronize();
    const int64_t before = used_bytes("sim:0");
    control().limit_bytes(before + 12000);
    {
      const Slow slow;
      Tensor x = on_sim(ones({1000}));
      for (int i = 0; i < 20; ++i) x = x + 1;
      CHECK(x.to_vector<float>() == std::vector<float>(1000, 21));
    }
    control().limit_bytes(-1);
  }

  TEST_CASE("a number of the CPU is read in the call") {
    const Slow slow;
    const Tensor x = on_sim(ones({2})), number = tensor(2.);
    Tensor y = x;
    for (int i = 0; i < 10; ++i) {
      number.fill_(i);
      y = y + number;
    }
    CHECK(y.to_vector<float>() == std::vector<float>(2, 46));
  }

  TEST_CASE("random numbers on a device are those of the CPU, in the order of the calls") {
    const auto drawn = [](bool there) {
      seed_generator(5);
      std::vector<float> all;
      for (int i = 0; i < 4; ++i) {
        Tensor x = there ? on_sim(ones({3})) : ones({3});
        x = x * 2;
        x.uniform_();
        const Tensor between = rand({2});
        const Tensor y = nn::functional::dropout(x, 0.5);
        for (const Tensor& tensor : {x, between, y, bernoulli(x)})
          for (const float number : tensor.to_vector<float>()) all.push_back(number);
      }
      return all;
    };
    const Slow slow;
    CHECK(drawn(true) == drawn(false));
  }

  TEST_CASE("a wait for a device is interrupted, and what was queued is not lost") {
    synchronize();
    const Tensor x = on_sim(ones({2, 2})), here = zeros({2, 2});
    Tensor y = x;
    {
      const Slow slow;
      for (int i = 0; i < 200; ++i) y = y + 1;
      std::thread later([] {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        request_interrupt();
      });
      CHECK_THROWS_AS(y[0][0].item(), InterruptedError);
      CHECK_THROWS_AS(y.to_vector<float>(), InterruptedError);
      CHECK_THROWS_AS(here.copy_(y), InterruptedError);
      later.join();
      clear_interrupt();
    }
    CHECK(y.to_vector<float>() == std::vector<float>(4, 201));
    CHECK(error_of(synchronize) == "no error");
  }

  TEST_CASE("several threads use one device, and get their own results") {
    std::vector<std::thread> threads;
    std::vector<float> found(4);
    for (size_t t = 0; t < found.size(); ++t) {
      threads.emplace_back([&found, t] {
        Tensor x = device::to(full({10}, static_cast<double>(t)), t % 2 == 0 ? "sim:0" : "sim:1");
        for (int i = 0; i < 50; ++i) x = x + 1;
        found[t] = x.to_vector<float>()[9];
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(found == std::vector<float>{50, 51, 52, 53});
  }

  TEST_CASE("a lost device refuses work, and loses what was on it for ever") {
    const Tensor x = device::to(ones({2}), "sim:1"), here = on_sim(ones({2}));
    Tensor y = x;
    {
      const Slow slow;
      for (int i = 0; i < 100; ++i) y = y + 1;
      control().lose(1);
    }
    CHECK(contains(error_of([&] { y.to_vector<float>(); }), "device sim:1 is lost"));
    CHECK_THROWS_AS(device::to(ones({2}), "sim:1"), RuntimeError);
    CHECK((here + 1).to_vector<float>() == std::vector<float>{2, 2});
    control().find(1);
    CHECK(contains(error_of([&] { x.to_vector<float>(); }), "device sim:1 was lost after"));
    CHECK(contains(error_of([&] { (x * 3).to_vector<float>(); }), "from mul(f32[2], "));
    CHECK((device::to(ones({2}), "sim:1") + 1).to_vector<float>() == std::vector<float>{2, 2});
    CHECK(error_of([] { device::synchronize(device::Device("sim:1")); }) == "no error");
  }

  TEST_CASE("the child of a fork is refused tensors on a device, and ends") {
    const Tensor x = on_sim(ones({2})), y = x + 1;
    const pid_t child = ::fork();
    if (child == 0) {
      int faults = 0;
      const auto refuses = [&](auto&& body) {
        try {
          body();
          ++faults;
        } catch (const RuntimeError& error) {
          faults += contains(error.what(), "in the child of a fork") ? 0 : 1;
        } catch (...) {
          ++faults;
        }
      };
      refuses([&] { y.to_vector<float>(); });
      refuses([&] { y + 1; });
      refuses([&] { y.mul_(tensor(2.)); });
      refuses([&] { y.zero_(); });
      refuses([&] { y.uniform_(); });
      refuses([&] { y.copy_(ones({2})); });
      refuses([&] { device::to(ones({2}), "sim:0"); });
      refuses([&] { synchronize(); });
      faults += (ones({2}) + 1).to_vector<float>() == std::vector<float>{2, 2} ? 0 : 1;
      ::_exit(faults);
    }
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    CHECK(y.to_vector<float>() == std::vector<float>{2, 2});
  }
}
