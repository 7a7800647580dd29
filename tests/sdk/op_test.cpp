// Calls through the skin: binding, keywords, out, aliasing operands, dtypes, broadcasting, errors,
// lazy loading.
#include <atomic>
#include <thread>

#include "tests/sdk/functions.hpp"

using namespace functions;

TEST_SUITE("sdk/op") {
  TEST_CASE("a handle is found once and called like a function") {
    const Op op("add");
    CHECK(op == Op("add"));
    CHECK(op != Op("sub"));
    CHECK(op.name() == "add");
    CHECK(op(row({1}), row({2})).tensor().item() == 3);
    CHECK(op.call<Tensor>(row({1}), 2).item() == 3);
    CHECK(op.call<Tensor>(row({1}), row({2}), arg("alpha") = 10).item() == 21);
    CHECK(op.call<Tensor>(arg("other") = row({2}), arg("input") = row({1})).item() == 3);
    const Refusal unknown = refusal([] { Op("ad"); });
    CHECK(unknown.kind == TENON_ERROR_VALUE);
    CHECK(has(unknown.text, "'ad'"));
  }

  TEST_CASE("a module type's name in the place of an op's, and the reverse, says which it is") {
    const Refusal op = refusal([] { Op("Linear"); });
    CHECK(op.kind == TENON_ERROR_VALUE);
    CHECK(op.text ==
          "no op is named 'Linear'; 'Linear' is a module type: create it by "
          "tenon::Module::create(\"Linear\"), see `tenon show Linear`");
    CHECK(refusal([] { Module::create("sigmoid"); }).text ==
          "no module type is named 'sigmoid'; 'sigmoid' is an op: call it by "
          "tenon::Op(\"sigmoid\"), see `tenon show sigmoid`");
    tx("log");
    CHECK(has(refusal([] { Op("ScalarTensor"); }).text, "'ScalarTensor' is a tensor type"));
    CHECK(has(refusal([] { Op("sigmod"); }).text, "did you mean 'sigmoid'?"));
  }

  TEST_CASE("a result of another kind than the call reads is refused, naming both") {
    const Tensor scalar = tx("scalar").call<Tensor>(5, 2.0);
    const Refusal refused = refusal([&] { mean(scalar); });
    CHECK(refused.kind == TENON_ERROR_TYPE);
    CHECK(
        refused.text ==
        "mean(): result 0 is float, but the call reads it as Tensor; call tenon::Op(\"mean\")(...) "
        "and take the Value, which is of any kind");
    CHECK(has(
        refusal([&] {
          Op("mm").call<std::vector<Tensor>>(row({1}).reshape({1, 1}), row({1}).reshape({1, 1}));
        }).text,
        "mm(): result 0 is Tensor, but the call reads it as list of Tensors"));
    CHECK(refusal([] { Op("add")(1, row({1})).scalar(); }).text ==
          "the value is Tensor, not a number");
  }

  TEST_CASE("F-111 F-122 arguments are refused in Python's words") {
    const Tensor x = row({1});
    const Op add_op("add"), mean_op("mean");
    const auto text = [](auto&& call) {
      const Refusal refused = refusal(call);
      CHECK(refused.kind == TENON_ERROR_TYPE);
      return refused.text;
    };
    CHECK(text([&] { mean_op(3); }) ==
          "mean(): argument 'input' (position 1) must be Tensor, not int");
    CHECK(text([&] { mean_op("x"); }) ==
          "mean(): argument 'input' (position 1) must be Tensor, not str");
    CHECK(text([&] { mean_op(arg("input") = 1.5); }) ==
          "mean(): argument 'input' must be Tensor, not float");
    CHECK(text([&] { add_op(x); }) == "add() missing 1 required positional argument: 'other'");
    CHECK(text([&] { add_op(x, arg("alpha") = 2); }) ==
          "add() missing 1 required positional argument: 'other'");
    CHECK(text([&] { add_op(x, x, arg("alhpa") = 2); }) ==
          "add() got an unexpected keyword argument 'alhpa' (did you mean 'alpha'?)");
    CHECK(text([&] { add_op(x, x, arg("zzz") = 2); }) ==
          "add() got an unexpected keyword argument 'zzz'");
    CHECK(text([&] { add_op(x, x, arg("other") = x); }) ==
          "add() got multiple values for argument 'other'");
    CHECK(text([&] { fx("seen")(1); }) == "seen() takes 0 positional arguments but 1 was given");
    CHECK(text([&] { add_op(x, x, arg("alpha") = "two"); }) ==
          "add(): argument 'alpha' must be Number, not str");
    const Refusal refused = refusal([&] { add_op(x); });
    CHECK(refused.op == "add");
    CHECK(refused.provider == "math");
  }

  TEST_CASE("a call for the wrong number of results is refused, not written beyond its room") {
    const Tensor x = row({1, 3, 2});
    CHECK(has(refusal([&] { Op("max").call<Tensor>(x, 0); }).text, "2 results"));
    CHECK(has(refusal([&] { Op("add").call<std::tuple<Tensor, Tensor>>(x, x); }).text,
              "has 1 result,"));
    const auto [values, indices] = Op("max").call<std::tuple<Tensor, Tensor>>(x, 0);
    CHECK(values.item() == 3);
    CHECK(indices.item<int64_t>() == 1);
    CHECK(fx("live_stashes").call<int64_t>() == 0);
  }

  TEST_CASE("operands may be one tensor, and out may be or overlap an operand") {
    Tensor x = row({1, 2, 3});
    CHECK(x.add_(x).is_same(x));
    CHECK(numbers(x) == Numbers{2, 4, 6});
    mul(x, x, x);
    CHECK(numbers(x) == Numbers{4, 16, 36});
    Tensor y = row({1, 2, 3, 4, 5});
    add(y.slice(0, 0, 4), 1, 1, y.slice(0, 1, 5));
    CHECK(numbers(y) == Numbers{1, 2, 3, 4, 5});
    y = row({1, 2, 3, 4, 5});
    y.slice(0, 1, 5).add_(y.slice(0, 0, 4));
    CHECK(numbers(y) == Numbers{1, 3, 5, 7, 9});
    Tensor m = tensor({{1, 2}, {3, 4}}, f64);
    m.add_(m.t());
    CHECK(numbers(m) == Numbers{2, 5, 5, 8});
    add(m, 0, 1, m.t());
    CHECK(numbers(m) == Numbers{2, 5, 5, 8});
    const Tensor reversed = flip(row({1, 2, 3}), std::vector<int64_t>{0});
    CHECK(numbers(reversed + row({10, 20, 30})) == Numbers{13, 22, 31});
  }

  TEST_CASE("operands with negative strides") {
    double memory[] = {1, 2, 3, 4, 5, 6};
    const std::vector<int64_t> shape = {3, 2}, strides = {-2, -1};
    const Tensor backwards = wrap_buffer(memory + 5, IntList(shape.data(), 2),
                                         IntList(strides.data(), 2), f64, nullptr, nullptr);
    CHECK(numbers(backwards) == Numbers{6, 5, 4, 3, 2, 1});
    CHECK(numbers(backwards * 2 + row({0, 1})) == Numbers{12, 11, 8, 7, 4, 3});
    CHECK(numbers(sum(backwards, 0)) == Numbers{12, 9});
    Tensor(backwards).add_(backwards.slice(0, 0, 1));
    CHECK(memory[5] == 12);
    CHECK(memory[0] == 6);
    const Tensor x = leaf({1, 2});
    sum(x * backwards).backward();
    CHECK(numbers(x.grad()) == Numbers{30, 24});
  }

  TEST_CASE("out is written, returned, checked and counted") {
    const Tensor a = row({1, 2}), out = empty_tensor({2}, f64);
    const int64_t version = out.version();
    CHECK(add(a, a, 1, out).is_same(out));
    CHECK(numbers(out) == Numbers{2, 4});
    CHECK(out.version() == version + 1);
    CHECK(refusal([&] { add(a, a, 1, empty_tensor({3}, f64)); }).kind == TENON_ERROR_VALUE);
    CHECK(refusal([&] { add(a, a, 1, empty_tensor({2}, i64)); }).kind == TENON_ERROR_TYPE);
    const Tensor narrow = empty_tensor({2}, f32);
    add(a, a, 1, narrow);
    CHECK(numbers(narrow) == Numbers{2, 4});
    CHECK(refusal([&] { add(leaf({1, 2}), a, 1, out); }).kind == TENON_ERROR_RUNTIME);
    CHECK(refusal([&] { add(a, a, 1, leaf({1, 2})); }).kind == TENON_ERROR_RUNTIME);
    CHECK(refusal([&] { add(a, a, 1, row({0}).expand({2})); }).kind == TENON_ERROR_VALUE);
    const Tensor saved = leaf({1, 2}), other = row({3, 4}), product = saved * other;
    add(a, a, 1, other);
    CHECK(refusal([&] { sum(product).backward(); }).kind == TENON_ERROR_INPLACE);
  }

  TEST_CASE("dtypes promote by category, tensors before 0-dim tensors before numbers") {
    const auto of = [](DType dtype) { return ones({2}, dtype); };
    const auto zero_dim = [](DType dtype) { return ones(std::vector<int64_t>{}, dtype); };
    const struct {
      DType a, b, result;
    } table[] = {{boolean, boolean, boolean},
                 {boolean, u8, u8},
                 {u8, i8, i16},
                 {i8, i16, i16},
                 {i32, i64, i64},
                 {u8, i64, i64},
                 {i64, f32, f32},
                 {f32, f64, f64},
                 {boolean, f32, f32}};
    for (const auto& each : table) {
      CAPTURE(dtype_text(each.a));
      CAPTURE(dtype_text(each.b));
      CHECK(add(of(each.a), of(each.b)).dtype() == each.result);
      CHECK(add(of(each.b), of(each.a)).dtype() == each.result);
    }
    CHECK(add(of(f32), zero_dim(f64)).dtype() == f32);
    CHECK(add(of(i64), zero_dim(f64)).dtype() == f64);
    CHECK(add(of(f64), 2).dtype() == f64);
    CHECK(add(of(i32), 2).dtype() == i32);
    CHECK(add(of(i32), 2.5).dtype() == f32);
    CHECK(add(of(boolean), 2).dtype() == i64);
    CHECK(add(zero_dim(f32), 2.5).dtype() == f32);
    CHECK(div(of(i64), 2).dtype() == f32);
    CHECK(gt(of(f32), of(i64)).dtype() == boolean);
    CHECK(add(1, 2.5).dtype() == f32);
    CHECK(refusal([&] { of(i64).add_(of(f32)); }).kind == TENON_ERROR_TYPE);
    CHECK(refusal([&] { add(of(i64), of(i64), 0.5); }).kind == TENON_ERROR_TYPE);
  }

  TEST_CASE("an undefined tensor in a list is refused, naming its place") {
    const std::vector<Tensor> list = {ones({2}), Tensor()};
    CHECK(refusal([&] { Op("cat")(list); }).text ==
          "cat(): argument 'tensors': element 1 is undefined; every tensor of the list must be "
          "defined");
  }

  TEST_CASE("shapes broadcast from the right, empty and 0-dim ones too") {
    CHECK((zeros({3, 1}) + zeros({2})).sizes() == std::vector<int64_t>{3, 2});
    CHECK((zeros({0, 3}) + zeros({1})).sizes() == std::vector<int64_t>{0, 3});
    CHECK((zeros({1}) + zeros({0})).sizes() == std::vector<int64_t>{0});
    CHECK((scalar(2) * scalar(3)).dim() == 0);
    CHECK((scalar(2) * row({1, 2})).sizes() == std::vector<int64_t>{2});
    const Refusal refused = refusal([] { zeros({2}) + zeros({3}); });
    CHECK(refused.kind == TENON_ERROR_VALUE);
    CHECK(has(refused.text, "add(): "));
    CHECK(has(refused.text, "[2]"));
    CHECK(has(refused.text, "[3]"));
    CHECK(refused.provider == "math");
    CHECK(refusal([] { zeros({1}).add_(zeros({2})); }).kind == TENON_ERROR_VALUE);
  }

  TEST_CASE("whatever a plugin throws arrives as the right kind, with op and provider") {
    const auto run = [](const char* how) { return refusal([&] { apply("throw", how); }); };
    CHECK(run("value").kind == TENON_ERROR_VALUE);
    CHECK(run("value").text == "throw(): Shape mismatch!");
    CHECK(run("value").op == "fx.throw");
    CHECK(run("value").provider == "functions");
    CHECK(run("index").kind == TENON_ERROR_INDEX);
    CHECK(run("standard").kind == TENON_ERROR_RUNTIME);
    CHECK(run("standard").text == "a logic error (thrown by 'fx.throw')");
    CHECK(run("memory").kind == TENON_ERROR_MEMORY);
    CHECK(run("other").kind == TENON_ERROR_RUNTIME);
    CHECK_THROWS_AS(apply("throw", "value"), ValueError);
  }

  TEST_CASE("the failure of an inner op is the cause of the outer one's") {
    try {
      apply("calls_failing", row({1, 2}));
      FAIL("nothing was thrown");
    } catch (const Error& error) {
      CHECK(std::string(error.op()) == "fx.calls_failing");
      CHECK(std::string(error.provider()) == "functions");
      const Error cause = error.cause();
      CHECK(cause.kind() == error.kind());
      CHECK(std::string(cause.op()) == "view");
      CHECK(std::string(cause.provider()) == "math");
      CHECK(error.what() == "calls_failing(): " + std::string(cause.what()));
      CHECK(cause.cause().kind() == TENON_OK);
    }
  }

  TEST_CASE("many threads may be the first to use a plugin's op") {
    std::atomic<int> right{0};
    std::vector<std::thread> workers;
    const char* names[] = {"nn.functional.softplus", "bmm", "nn.functional.gelu", "outer"};
    add_plugin_path(TENON_FIXTURES "/functions");
    for (int t = 0; t < 8; ++t) {
      workers.emplace_back([&, t] {
        try {
          const Op op(names[t % 4]);
          const Tensor x = ones({1, 1, 1}, f64);
          const Tensor result = t % 4 == 1   ? op.call<Tensor>(x, x)
                                : t % 4 == 3 ? op.call<Tensor>(x.view({1}), x.view({1}))
                                             : op.call<Tensor>(x);
          if (result.numel() == 1 && apply("cube", x).item() == 1) ++right;
        } catch (const std::exception& error) {
          MESSAGE(error.what());
        }
      });
    }
    for (std::thread& worker : workers) worker.join();
    CHECK(right == 8);
  }
}
