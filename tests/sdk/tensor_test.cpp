// Tensor handles: construction, facts, elements, ownership, misuse.
#include "tests/sdk/functions.hpp"

using namespace functions;

TEST_SUITE("sdk/tensor") {
  TEST_CASE("nested braces give shape and dtype") {
    CHECK(tensor({1, 2, 3}).dtype() == i64);
    CHECK(tensor({1, 2.5}).dtype() == f32);
    CHECK(tensor({true, false}).dtype() == boolean);
    CHECK(tensor({{1, 2}, {3, 4}}).sizes() == std::vector<int64_t>{2, 2});
    CHECK(tensor(5).dim() == 0);
    CHECK(tensor({{1, 2}, {3, 4}}, f64).to_vector<double>() == Numbers{1, 2, 3, 4});
    CHECK(refusal([] { tensor({{1, 2}, {3}}); }).kind == TENON_ERROR_VALUE);
    CHECK(refusal([] { tensor({{1, 2}, 3}); }).kind == TENON_ERROR_VALUE);
    CHECK(refusal([] { tensor({1, {2, 3}}); }).kind == TENON_ERROR_VALUE);
  }

  TEST_CASE("sizes and dimensions count from both ends") {
    const Tensor x = zeros({2, 3, 4});
    CHECK(x.size(-1) == 4);
    CHECK(x.stride(0) == 12);
    CHECK(has(refusal([&] { x.size(3); }).text,
              "dimension 3 is out of range for a tensor of 3 dimensions"));
    CHECK(refusal([&] { x.size(-4); }).kind == TENON_ERROR_INDEX);
  }

  TEST_CASE("data must be asked for by its own type, and item needs one element") {
    const Tensor x = tensor({1.5, 2.5});
    CHECK(x.data<float>()[1] == 2.5f);
    CHECK(refusal([&] { x.data<double>(); }).text == "data of a f32 tensor asked for as f64");
    CHECK(refusal([&] { x.item(); }).kind == TENON_ERROR_VALUE);
    CHECK(tensor({{7}}).item<int64_t>() == 7);
  }

  TEST_CASE("handles share, and the last one frees foreign memory once") {
    int released = 0;
    double memory[] = {1, 2, 3, 4};
    {
      const std::vector<int64_t> shape = {2, 2}, strides = {1, 2};
      Tensor view;
      {
        const Tensor x =
            wrap_buffer(memory, IntList(shape.data(), 2), IntList(strides.data(), 2), f64,
                        &released, [](void* count) { ++*static_cast<int*>(count); });
        view = x.select(0, 1);
        CHECK(numbers(x) == Numbers{1, 3, 2, 4});
      }
      CHECK(released == 0);
      CHECK(numbers(view) == Numbers{2, 4});
      view.mul_(10);
    }
    CHECK(released == 1);
    CHECK(memory[1] == 20);
    CHECK(memory[3] == 40);
  }

  TEST_CASE("gradients that wrap a user's memory are never added to in place") {
    double memory[] = {1, 1};
    const std::vector<int64_t> shape = {2}, strides = {1};
    const Tensor x = leaf({1, 2});
    const auto seed = [&] {
      return wrap_buffer(memory, IntList(shape.data(), 1), IntList(strides.data(), 1), f64, nullptr,
                         nullptr);
    };
    x.backward(seed());
    x.backward(seed());
    backward({x, x}, {{seed(), seed()}});
    CHECK(memory[0] == 1);
    CHECK(numbers(x.grad()) == Numbers{4, 4});
  }

  TEST_CASE("versions count changes, and a new result starts at 0") {
    for (const Tensor& fresh :
         {zeros({2}), ones({2}), row({1, 2}).clone(), row({1}) + 1, tensor({1, 2}).to(f64)})
      CHECK(fresh.version() == 0);
    Tensor x = zeros({2});
    const Tensor view = x.slice(0, 0, 1);
    view.add_(1);
    CHECK(x.version() == 1);
    x.mul_(2);
    CHECK(view.version() == 2);
    copy_elements(x, ones({2}));  // another handle sees it
    CHECK(view.version() == 3);
    add(ones({2}), ones({2}), 1, x);
    CHECK(view.version() == 4);
  }

  TEST_CASE("a storage that a cache has numbered counts each change, by a sole owner as well") {
    const auto number = [](const Tensor& x) {
      return tenon::service::tensors().storage_number(x.handle());
    };
    const Tensor x = zeros({2}), other = zeros({2});
    CHECK(number(x) != 0);
    CHECK(number(x) == number(x.slice(0, 0, 1)));
    CHECK(number(x) != number(other));
    CHECK(number(Tensor()) == 0);
    copy_elements(x, ones({2}));
    CHECK(x.version() == 1);
    fill_elements(x, 3);
    CHECK(x.version() == 2);
  }

  TEST_CASE("an undefined tensor crosses as none") {
    CHECK_FALSE(Tensor().defined());
    CHECK(refusal([] { add(Tensor(), row({1})); }).text ==
          "add(): argument 'input' (position 1) must be Tensor or Number, not NoneType");
  }

  TEST_CASE("a gradient that is set by hand must fit") {
    Tensor x = leaf({1, 2});
    CHECK(refusal([&] { x.set_grad(row({1})); }).kind == TENON_ERROR_VALUE);
    CHECK(refusal([&] { x.set_grad(tensor({1, 2})); }).kind == TENON_ERROR_TYPE);
    x.set_grad(row({5, 6}));
    CHECK(numbers(x.grad()) == Numbers{5, 6});
    sum(x).backward();
    CHECK(numbers(x.grad()) == Numbers{6, 7});
  }
}
