// usage: tenon_device_exits NAME
//
// Programs that end while work for a device is queued. exit_test.cpp expects the exit code 7 of each.
#include <chrono>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <thread>

#include <tenon/device.hpp>
#include <tenon/tenon.hpp>

#include "plugins/sim/control.h"

using namespace tenon;

namespace {

const sim_control_service& control() {
  static const Service<sim_control_service> service("sim.control", SIM_CONTROL_VERSION);
  return *service;
}

// About as many kernels as a queue takes, of which one in eight begins late.
Tensor queued() {
  control().delay_kernels(20'000, 3);
  Tensor x = device::to(ones({4, 4}), "sim:0");
  for (int i = 0; i < 300; ++i) x = relu(x + 1) * 0.5;
  return x;
}

Tensor kept;  // destroyed after the objects of the plugins

int local() {
  queued();
  return 7;
}
int global() {
  kept = queued();
  return 7;
}
int recorded() {
  Tensor x = device::to(ones({4, 4}), "sim:1");
  x.requires_grad_();
  kept = queued() * device::to(x, "sim:0");
  sum(kept).backward();
  return 7;
}
int of_another_thread() {
  std::thread([] { kept = queued(); }).join();
  return 7;
}
int exit_in_thread() {
  kept = queued();
  std::thread([] { std::exit(7); }).join();
  return 1;
}
// Kernels make objects with static storage when they run first: no kernel runs once such an object may be
// gone.
int static_objects() {
  kept = queued();
  static const struct Made {
    ~Made() {
      const int64_t before = control().kernels();
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      if (control().kernels() != before) std::_Exit(1);
    }
  } made_later;
  return 7;
}
int plans_of_a_library() {
  queued();
  for (int i = 0; i < 300; ++i)
    kept = Op("fft.fft").call<Tensor>(device::to(ones({8 + i}), "sim:0"));
  return 7;
}
// A result whose calls had not run, and one that is computed from it, are refused.
int results_that_were_not_computed() {
  static const struct User {
    static bool is_refused(const std::function<Tensor()>& result) {
      try {
        return result().to_vector<float>().empty();
      } catch (const RuntimeError& error) {
        return std::string(error.what()).find("was not run") != std::string::npos;
      }
    }
    ~User() {
      if (!is_refused([] { return kept; }) || !is_refused([] { return kept * 1; })) std::_Exit(1);
    }
  } user;
  kept = queued();
  return 7;
}
int used_by_destructors() {
  static const struct User {
    ~User() {
      if ((kept * 0 + 1).to_vector<float>() != std::vector<float>(16, 1)) std::_Exit(1);
    }
  } user;
  kept = device::to(ones({4, 4}), "sim:0");
  queued();
  return 7;
}

}  // namespace

int main(int count, char** arguments) {
  const std::map<std::string, std::function<int()>> programs{
      {"local", local},
      {"global", global},
      {"recorded", recorded},
      {"of_another_thread", of_another_thread},
      {"exit_in_thread", exit_in_thread},
      {"static_objects", static_objects},
      {"plans_of_a_library", plans_of_a_library},
      {"results_that_were_not_computed", results_that_were_not_computed},
      {"used_by_destructors", used_by_destructors}};
  const auto program = programs.find(count == 2 ? arguments[1] : "");
  return program == programs.end() ? 2 : program->second();
}
