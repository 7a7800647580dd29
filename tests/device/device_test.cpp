// Tensors on devices: where they are, what may be mixed, views, changes in place, histories, memory.
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <tenon/device.hpp>
#include <tenon/dlpack.hpp>
#include <tenon/gradcheck.hpp>
#include <tenon/listing/why.hpp>
#include <tenon/tenon.hpp>
#include <tenon/transforms/grad.hpp>
#include <tenon/transforms/vmap.hpp>

#include "plugins/sim/control.h"

using namespace tenon;

namespace {

Tensor on_sim(const Tensor& tensor) { return device::to(tensor, "sim:0"); }

// Bytes that the tensors of an instance take.
int64_t used_bytes(const char* name) {
  const device::Device device(name);
  int64_t used = 0, total = 0;
  call_slot(device.service()->memory, device.index(), &used, &total);
  return used;
}

template <class Body>
std::string error_of(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

const sim_control_service& control() {
  static const Service<sim_control_service> service("sim.control", SIM_CONTROL_VERSION);
  return *service;
}

}  // namespace

TEST_SUITE("device/device") {
  TEST_CASE("a tensor says which device it is on, also in its text") {
    const Tensor x = device::to(tensor({1., 2.}), "sim:1");
    CHECK(device::name_of(x) == "sim:1");
    CHECK(device::name_of(on_sim(x)) == "sim:0");
    CHECK(device::name_of(device::to(x, "cpu")) == "cpu");
    CHECK(device::to(x, "sim:1").is_same(x));
    CHECK(x.text() == "tensor([1., 2.], device='sim:1')");
    CHECK(device::name_of(tensor({1.})) == "cpu");
  }

  TEST_CASE("the text of a tensor on a device shows its history") {
    Tensor x = on_sim(tensor({1., 2.}));
    x.requires_grad_();
    CHECK(x.text() == "tensor([1., 2.], device='sim:0', requires_grad=True)");
    CHECK((x * 2).text() == "tensor([2., 4.], device='sim:0', grad_fn=<MulBackward0>)");
    CHECK((x * 2).detach().text() == "tensor([2., 4.], device='sim:0')");
  }

  TEST_CASE("why says that operands in memory of several owners are refused") {
    const auto contains = [](const Json& explanation, const char* part) {
      return listing::explain_text(explanation).find(part) != std::string::npos;
    };
    CHECK(contains(listing::why("add", {"sim", "Tensor"}), "'other' in memory of the CPU"));
    CHECK(!contains(listing::why("add", {"sim", "sim"}), "in memory of"));
    const Op add("add");
    const Tensor x = on_sim(ones({2}));
    CHECK(contains(listing::explain(add, x, ones({2})), "'other' in memory of the CPU"));
    CHECK(!contains(listing::explain(add, x, tensor(2.)), "in memory of the CPU"));
  }

  TEST_CASE("a device that is not there is refused by its name") {
    const Tensor x = tensor({1.});
    const std::string text = error_of([&] { device::to(x, "smi:1"); });
    CHECK(text.find("no device is named 'smi:1'; expected cpu, ") == 0);
    CHECK(text.find("sim, or one of several, NAME:1 (did you mean 'sim'?)") != std::string::npos);
    CHECK(error_of([&] {
            device::to(x, "cuda");
          }).find("no device is named 'cuda'; expected cpu") == 0);
    // The type of tensors in plain memory.
    CHECK(error_of([&] { device::to(x, "Tensor"); }).find("no device is named 'Tensor'") == 0);
    CHECK(error_of([&] { device::to(x, "sim:2"); }) == "there is no device sim:2; 'sim' has 2");
    CHECK(error_of([&] {
            device::to(x, "sim:-1");
          }).find("no device is named 'sim:-1'; expected ") == 0);
    CHECK(error_of([&] { device::to(x, "sim:"); }).find("no device is named 'sim:'; expected ") ==
          0);
    CHECK(error_of([&] { device::to(x, "cpu:1"); }) == "there is no device cpu:1");
  }

  TEST_CASE("operands on several devices are refused, and numbers join any") {
    const Tensor x = on_sim(tensor({1., 2.}));
    CHECK(
        error_of([&] {
          x + tensor({1., 2.});
        }) ==
        "add(): 'input' is in memory of sim, 'other' in memory of the CPU; copy one of them to the "
        "other's (device::to)");
    CHECK(error_of([&] { x + device::to(x, "sim:1"); }) ==
          "one operand is on sim:0, another on sim:1; copy one of them to the device of the other");
    CHECK((x + tensor(2.)).text() == "tensor([3., 4.], device='sim:0')");
    CHECK((x * 3).text() == "tensor([3., 6.], device='sim:0')");
  }

  TEST_CASE("elements of a device are not read as elements of the CPU") {
    const Tensor x = on_sim(tensor({1., 2.}));
    CHECK_THROWS_AS(x.data<float>(), TypeError);
    CHECK(
        error_of([&] { to_dlpack(x); }) ==
        "a tensor for DLPack is in memory of sim, which the CPU does not read; copy it to the CPU "
        "first (device::to)");
    CHECK(x.to_vector<float>() == std::vector<float>{1, 2});
    CHECK(x[1].item() == 2);
  }

  TEST_CASE("views share memory on a device, and changes in place reach them") {
    const Tensor x = on_sim(tensor({{1., 2.}, {3., 4.}}));
    const Tensor row = x[1], column = transpose(x, 0, 1)[0];
    row.mul_(tensor(10.));
    CHECK(x.text() == "tensor([[ 1.,  2.],\n        [30., 40.]], device='sim:0')");
    CHECK(column.to_vector<float>() == std::vector<float>{1, 30});
    CHECK(row.version() == x.version());
  }

  TEST_CASE("a tensor that backward reads is not changed in between") {
    Tensor x = on_sim(tensor({1., 2.}));
    x.requires_grad_();
    const Tensor y = x * 1;
    const Tensor z = sum(y * y);
    y.mul_(tensor(2.));
    CHECK_THROWS_AS(z.backward(), InplaceError);
  }

  TEST_CASE("gradients are on the device of their tensors, across devices too") {
    Tensor x = on_sim(tensor({1., 2.})), w = tensor({3., 4.});
    x.requires_grad_();
    w.requires_grad_();
    const Tensor there = device::to(w, "sim:0") * x;
    sum(device::to(there, "cpu") * 2).backward();
    CHECK(x.grad().text() == "tensor([6., 8.], device='sim:0')");
    CHECK(w.grad().text() == "tensor([2., 4.])");
    sum(x * x).backward();
    CHECK(x.grad().text() == "tensor([ 8., 12.], device='sim:0')");
  }

  TEST_CASE("a gradient that is set by hand is on the device of its tensor") {
    Tensor x = on_sim(ones({2}));
    x.requires_grad_();
    CHECK(error_of([&] { x.set_grad(device::to(ones({2}), "sim:1")); }) ==
          "assigned grad is on sim:1 but the tensor is on sim:0; copy it there (device::to)");
    CHECK(error_of([&] { x.set_grad(ones({2})); }) ==
          "assigned grad is on the CPU but the tensor is on sim:0; copy it there (device::to)");
    x.set_grad(on_sim(ones({2})));
    sum(x * 2).backward();
    CHECK(x.grad().to_vector<float>() == std::vector<float>{3, 3});
    x.set_grad({});
    CHECK(!x.grad().defined());
  }

  TEST_CASE("second derivatives go to a device and back") {
    Tensor x = tensor({{1., 2.}, {3., 4.}}, f64), w = tensor({{0.5, -1.}, {2., 0.}}, f64);
    x.requires_grad_();
    w.requires_grad_();
    const auto there = [](const std::vector<Tensor>& in) {
      const Tensor product = mm(device::to(in[0], "sim:1"), device::to(in[1], "sim:1"));
      return std::vector<Tensor>{device::to(sin(product), "cpu")};
    };
    CHECK(gradcheck(there, {x, w}));
    CHECK(gradgradcheck(there, {x, w}));
  }

  TEST_CASE("the gradient of a view that was changed in place stays on the device") {
    Tensor x = on_sim(tensor({{1., 2.}, {3., 4.}}));
    x.requires_grad_();
    const Tensor y = x * 1;
    y[0].mul_(tensor(10.));
    sum(y).backward();
    CHECK(x.grad().text() == "tensor([[10., 10.],\n        [ 1.,  1.]], device='sim:0')");
  }

  TEST_CASE("a seed, gradients and zeros are where their tensors are, on any instance and thread") {
    Tensor x = device::to(tensor({1., 2.}), "sim:1");
    x.requires_grad_();
    const Tensor y = sum(sin(x) * x), z = sum(x[0] * 2);
    static_cast<void>(on_sim(ones({2})) * 2);  // the instance that this thread has used last
    std::thread([&] { y.backward(); }).join();
    z.backward();
    CHECK(device::name_of(x.grad()) == "sim:1");
    Tensor one = device::to(ones({1}), "sim:1");
    one.requires_grad_();
    (one * one).backward();
    CHECK(one.grad().text() == "tensor([2.], device='sim:1')");
    Tensor a = on_sim(ones({2})), b = device::to(ones({2}), "sim:1");
    a.requires_grad_();
    b.requires_grad_();
    sum(a * device::to(b * 2, "sim:0")).backward();
    CHECK(device::name_of(a.grad()) == "sim:0");
    CHECK(b.grad().text() == "tensor([2., 2.], device='sim:1')");
  }

  TEST_CASE("a Function without gradients gives zeros where its operands are") {
    Tensor x = device::to(ones({2, 2}), "sim:1");
    x.requires_grad_();
    const Tensor part = device::to(zeros({2}), "sim:1");
    const Tensor y = as_strided_scatter(x, part, {2}, {1}, 0);
    y.copy_(device::to(ones({2, 2}), "sim:1"));  // nothing of x is left
    static_cast<void>(on_sim(ones({2})) * 2);    // the instance that this thread has used last
    sum(y * 2).backward();
    CHECK(x.grad().text() == "tensor([[0., 0.],\n        [0., 0.]], device='sim:1')");
  }

  TEST_CASE("reshaped tensors share memory on a device, as on the CPU") {
    Tensor x = on_sim(tensor({1., 2., 3., 4.}));
    x.requires_grad_();
    const Tensor y = x * 2;
    const Tensor r = y.reshape({2, 2});
    r[0].mul_(tensor(5.));
    const Tensor total = sum(y * y);
    CHECK(total.item() == 10 * 10 + 20 * 20 + 6 * 6 + 8 * 8);
    total.backward();
    CHECK(x.grad().to_vector<float>() == std::vector<float>{200, 400, 24, 32});
  }

  TEST_CASE("tangents go along to a device and back") {
    const DualLevel level;
    const Tensor there = on_sim(make_dual(tensor({1., 2.}), tensor({3., 4.})));
    CHECK(unpack_dual(there).tangent.text() == "tensor([3., 4.], device='sim:0')");
    CHECK(unpack_dual(device::to(there * 2, "cpu")).tangent.to_vector<float>() ==
          std::vector<float>{6, 8});
  }

  TEST_CASE("a view of a number, and ops made of ops, do not mix memory") {
    const Tensor x = on_sim(tensor({1., 2.}));
    CHECK(tensor(3.).expand_as(x).to_vector<float>() == std::vector<float>{3, 3});
    CHECK_THROWS_AS(tensor({3., 4.}).expand_as(x), ValueError);
    CHECK_THROWS_AS(concat({x, tensor({3., 4.})}, 0), ValueError);
  }

  TEST_CASE("anomaly mode looks for the first NaN on a device") {
    Tensor x = on_sim(tensor({1., -2.}));
    x.requires_grad_();
    const AnomalyMode anomaly;
    CHECK_THROWS_AS(sum(sqrt(x) * 0).backward(), Error);
  }

  TEST_CASE("a module moves to a device and back, its parameters stay the same tensors") {
    Module linear = Module::create("Linear", arg("in_features") = 2, arg("out_features") = 3);
    const Tensor weight = linear.tensor("weight");
    const std::vector<float> before = weight.to_vector<float>();
    device::move(linear, device::Device("sim:1"));
    CHECK(device::name_of(weight) == "sim:1");
    CHECK(device::name_of(linear) == "sim:1");
    CHECK(weight.requires_grad());
    const Tensor y = linear(device::to(ones({4, 2}), "sim:1"));
    CHECK(device::name_of(y) == "sim:1");
    device::move(linear, device::Device("cpu"));
    CHECK(weight.to_vector<float>() == before);
    CHECK(linear(ones({4, 2})).to_vector<float>() == y.to_vector<float>());
  }

  TEST_CASE("under vmap a tensor is where its batch is, and all samples are moved at once") {
    const Tensor x = tensor({{1., 2.}, {3., 4.}});
    const auto twice = [](const Tensor& row) {
      CHECK(device::name_of(row) == "sim:1");
      return device::to(row, "sim:1") * 2;
    };
    CHECK(vmap(twice)(device::to(x, "sim:1")).to_vector<float>() == std::vector<float>{2, 4, 6, 8});
    const int64_t before = control().allocations();
    const Tensor moved = vmap([](const Tensor& row) { return device::to(row, "sim:1"); })(x);
    CHECK(control().allocations() <= before + 2);  // an example of the type, and the batch
    CHECK(device::name_of(moved) == "sim:1");
    CHECK(moved.to_vector<float>() == std::vector<float>{1, 2, 3, 4});
    const Tensor back = vmap([](const Tensor& row) { return device::to(row, "cpu"); }, 1, 1)(moved);
    CHECK(device::name_of(back) == "cpu");
    CHECK(back.to_vector<float>() == std::vector<float>{1, 2, 3, 4});
  }

  TEST_CASE("gradients pass a move within vmap, and so do moves within gradients and other vmaps") {
    const auto there = [](const Tensor& row) {
      return device::to(sum(sin(device::to(row, "sim:1"))), "cpu");
    };
    const auto here = [](const Tensor& row) { return sum(sin(row)); };
    const auto leaf = [&] {
      Tensor x = tensor({{1., 2.}, {3., 4.}});
      x.requires_grad_();
      return x;
    };
    const Tensor x = leaf(), y = leaf();
    sum(vmap(there)(x) * tensor({1., 2.})).backward();
    sum(vmap(here)(y) * tensor({1., 2.})).backward();
    CHECK(device::name_of(x.grad()) == "cpu");
    CHECK(x.grad().to_vector<float>() == y.grad().to_vector<float>());
    CHECK(vmap(transforms::grad(there))(x.detach()).to_vector<float>() ==
          vmap(transforms::grad(here))(y.detach()).to_vector<float>());
    CHECK(vmap(transforms::grad(transforms::grad(
              [&](const Tensor& one) { return there(one * one); })))(tensor({1., 2.}))
              .to_vector<float>() == vmap(transforms::grad(transforms::grad([&](const Tensor& one) {
                                       return here(one * one);
                                     })))(tensor({1., 2.}))
                                         .to_vector<float>());
    CHECK(vmap(vmap([](const Tensor& one) { return device::to(one, "sim:0") * 3; }))(x.detach())
              .text() == "tensor([[ 3.,  6.],\n        [ 9., 12.]], device='sim:0')");
    const DualLevel level;
    const Tensor tangent =
        unpack_dual(vmap(there)(make_dual(x.detach(), tensor({{1., 0.}, {0., 1.}})))).tangent;
    CHECK(tangent.to_vector<float>() ==
          unpack_dual(vmap(here)(make_dual(y.detach(), tensor({{1., 0.}, {0., 1.}}))))
              .tangent.to_vector<float>());
  }

  TEST_CASE("a leaf made within vmap is not moved, nor a tensor made dual there") {
    const auto refuse = [](const Tensor& one) {
      CHECK_THROWS_AS(device::to(one, "sim:1"), TypeError);
    };
    const Tensor x = tensor({{1., 2.}, {3., 4.}});
    vmap([&](const Tensor& row) {
      CHECK_THROWS_AS(row.detach().requires_grad_(), TypeError);
      return row;
    })(x);
    // The batch has a tangent of the outer level, and none of the inner one.
    const DualLevel outer;
    vmap([&](const Tensor& row) {
      const DualLevel inner;
      refuse(make_dual(row, row));
      return device::to(device::to(row, "sim:1"), "cpu");
    })(make_dual(x, ones({2, 2})));
  }

  TEST_CASE("memory of a device is given back with the last tensor on it") {
    const int64_t before = used_bytes("sim:1");
    {
      Tensor x = device::to(ones({100}), "sim:1");
      CHECK(used_bytes("sim:1") == before + 400);
      const Tensor view = x[3];
      x = Tensor();
      CHECK(used_bytes("sim:1") == before + 400);
      Tensor w = device::to(ones({100}), "sim:1");
      w.requires_grad_();
      sum(exp(w) * w).backward();
      CHECK(used_bytes("sim:1") == before + 1200);
    }
    CHECK(used_bytes("sim:1") == before);
  }

  TEST_CASE("an allocation that fails loses nothing, whichever of a training step it is") {
    Module model = Module::create("Linear", arg("in_features") = 3, arg("out_features") = 2);
    device::move(model, device::Device("sim:0"));
    const Tensor inputs = on_sim(ones({4, 3}));
    const auto step = [&] { sum(relu(model(inputs))).backward(); };
    step();
    model.zero_grad();
    const int64_t begin = control().allocations();
    step();
    const int64_t count = control().allocations() - begin;
    const Tensor weight = model.tensor("weight");
    const std::vector<float> gradient = weight.grad().to_vector<float>();
    REQUIRE(count > 5);
    for (int64_t failing = 0; failing < count; ++failing) {
      model.zero_grad();
      const int64_t used = used_bytes("sim:0");
      control().fail_allocation(failing);
      CHECK_THROWS_AS(step(), MemoryError);
      control().fail_allocation(-1);
      model.zero_grad();
      CHECK(used_bytes("sim:0") == used);
      step();
      CHECK(weight.grad().to_vector<float>() == gradient);
    }
  }

  TEST_CASE("a tensor that does not fit is refused with what there is, and what takes the most") {
    const Tensor small = device::to(ones({3}), "sim:1"),
                 large = device::to(ones({10, 20}), "sim:1");
    device::synchronize(device::Device("sim:1"));
    control().limit_bytes(1000);
    const std::string text = error_of([] { device::to(ones({1000}), "sim:1"); });
    control().limit_bytes(-1);
    CHECK(text.find("sim:1 has 1000 bytes") != std::string::npos);
    CHECK(text.find("4000 more do not fit") != std::string::npos);
    CHECK(text.find("its largest tensors: f32[10, 20] (800 bytes), f32[3] (12 bytes)") !=
          std::string::npos);
  }

  TEST_CASE("tensors are made on a device, of the numbers that the CPU would draw") {
    const device::Device sim("sim:1"), cpu("cpu");
    const Tensor x = device::full({2, 2}, 3, f64, sim);
    CHECK(x.text() == "tensor([[3., 3.],\n        [3., 3.]], dtype=f64, device='sim:1')");
    CHECK(device::zeros({2}, i64, sim).to_vector<int64_t>() == std::vector<int64_t>{0, 0});
    CHECK(device::ones({}, boolean, sim).item() == 1);
    CHECK(device::name_of(device::ones({2}, f32, cpu)) == "cpu");
    CHECK(device::zeros({0, 3}, f32, sim).size(1) == 3);
    const auto drawn = [](const device::Device& on) {
      seed_generator(3);
      const Tensor even = device::rand({5}, f32, on), normal = device::randn({5}, f64, on);
      CHECK(device::name_of(normal) == on.name());
      std::vector<double> all = even.to_vector<double>();
      for (const double number : normal.to_vector<double>()) all.push_back(number);
      return all;
    };
    CHECK(drawn(sim) == drawn(cpu));
  }

  TEST_CASE("a device without elements has tensors too") {
    const Tensor x = on_sim(ones({0, 3}));
    CHECK(device::name_of(x) == "sim:0");
    CHECK(sum(x).item() == 0);
    CHECK(cat({x, on_sim(ones({2, 3}))}, 0).size(0) == 2);
  }
}
