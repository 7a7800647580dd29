// Calls with operands of other types than Tensor: who is asked, in which order, and what comes of
// it.
#include <tenon/listing/listing.hpp>

#include "tests/sdk/functions.hpp"

using namespace functions;

namespace {

Tensor make_one(const std::string& type, const Tensor& data = {}, const std::string& note = "") {
  return tx("make").call<Tensor>(type, data, note);
}
Tensor scalar_tensor(int64_t n, double value, const std::string& type = "ScalarTensor") {
  return tx("scalar").call<Tensor>(n, value, type);
}
template <class... Arguments>
std::string answer(const std::string& op, const Arguments&... arguments) {
  return text_of(Op(op)(arguments...));
}
template <class... Arguments>
std::string type_error(const std::string& op, const Arguments&... arguments) {
  const Op called(op);
  const Refusal refused = refusal([&] { called(arguments...); });
  CHECK(refused.kind == TENON_ERROR_TYPE);
  return refused.text;
}
const Tensor plain = tensor({{1, 1}, {1, 1}});

}  // namespace

TEST_SUITE("sdk/override") {
  TEST_CASE(
      "OV-01 F-105 F-106 F-117 one operand with an override is enough, and results are of any "
      "kind") {
    CHECK(answer("mean", scalar_tensor(5, 2)) == "0.4");
    CHECK(answer("mean", scalar_tensor(5, 2, "TenfoldScalar")) == "4.0");
    CHECK(answer("mean", make_one("S", plain)) == "0");
  }

  TEST_CASE("OV-02 F-124 F-125 either operand triggers; unrelated types go left to right") {
    const Tensor d = make_one("D"), s = make_one("S", plain);
    CHECK(answer("mm", d, d) == "0");
    CHECK(answer("mm", d, plain) == "0");
    CHECK(answer("mm", plain, d) == "0");
    CHECK(answer("mm", s, s) == "-1");
    CHECK(answer("mm", s, plain) == "-1");
    CHECK(answer("mm", plain, s) == "-1");
    CHECK(answer("mm", s, d) == "-1");
    CHECK(answer("mm", d, s) == "0");
  }

  TEST_CASE("OV-03 F-161 a subclass is asked before its superclass at any position") {
    const Tensor d = make_one("D"), sd = make_one("SD"), s = make_one("S", plain);
    CHECK(answer("mm", sd, sd) == "1");
    CHECK(answer("mm", sd, d) == "1");
    CHECK(answer("mm", d, sd) == "1");
    CHECK(answer("mm", sd, plain) == "1");
    CHECK(answer("mm", plain, sd) == "1");
    CHECK(answer("mm", s, sd) == "-1");
    CHECK(answer("mm", sd, s) == "1");
  }

  TEST_CASE("OV-04 F-130 not implemented falls through to the next type") {
    const Tensor d = make_one("D"), sd = make_one("SD"), s = make_one("S", plain);
    CHECK(answer("div", d, sd) == "-1");
    CHECK(answer("div", sd, d) == "-1");
    CHECK(answer("div", d, s) == "-1");
    CHECK(answer("div", s, d) == "-1");
    type_error("div", sd, s);
    type_error("div", s, sd);
    // A function of a plugin, with an optional operand.
    CHECK(text_of(tx("foo")(sd, d)) == "-1");
    CHECK(text_of(tx("foo")(plain, plain, d)) == "-1");
    CHECK(text_of(tx("foo")(plain, plain, arg("c") = d)) == "-1");
    type_error("tx.foo", sd, s);
    CHECK(tx("foo")(plain, plain).tensor().to_vector<int64_t>() ==
          std::vector<int64_t>{2, 2, 2, 2});
  }

  TEST_CASE("OV-05 F-131 when all decline the error names the op and the types in order") {
    const Tensor d = make_one("D"), sd = make_one("SD"), s = make_one("S", plain);
    const std::string head =
        "no implementation found for 'tenon.mul' on types that implement tenon_function: ";
    CHECK(type_error("mul", d, d) == head + "[D]");
    CHECK(type_error("mul", d, sd) == head + "[SD, D]");
    CHECK(type_error("mul", d, s) == head + "[D, S]");
    CHECK(type_error("mul", sd, d) == head + "[SD, D]");
    CHECK(type_error("mul", sd, sd) == head + "[SD]");
    CHECK(type_error("mul", sd, s) == head + "[SD, S]");
    CHECK(type_error("mul", s, d) == head + "[S, D]");
    CHECK(type_error("mul", s, sd) == head + "[S, SD]");
    CHECK(type_error("mul", s, s) == head + "[S]");
    CHECK(has(type_error("tx.foo", s, s), "'tenon.tx.foo'"));
    CHECK(type_error("mul", scalar_tensor(2, 2), 3) == head + "[ScalarTensor]");
  }

  TEST_CASE("OV-06 errors of an implementation are its own") {
    const Tensor d = make_one("D");
    const Refusal refused = refusal([&] { Op("add")(d, d); });
    CHECK(refused.kind == TENON_ERROR_VALUE);
    CHECK(refused.text == "mine");
    CHECK(refused.op == "add");
    CHECK(refused.provider == "types");
  }

  TEST_CASE("OV-12 F-111 a type without an implementation is refused as an argument") {
    const Tensor bare = make_one("Bare");
    CHECK(type_error("mean", bare) ==
          "mean(): argument 'input' (position 1) must be Tensor, not Bare");
    CHECK(type_error("add", plain, bare) ==
          "add(): argument 'other' (position 2) must be Tensor or Number, not Bare");
    CHECK(type_error("mul", scalar_tensor(2, 2), bare) ==
          "no implementation found for 'tenon.mul' on types that implement tenon_function: "
          "[ScalarTensor]");
  }

  TEST_CASE("OV-17 F-140 F-141 F-142 F-143 results keep the subclass") {
    const Tensor t = tensor({1.0, 2.0});
    const Tensor s2 = make_one("S2", t), ss2 = make_one("SS2", t), s3 = make_one("S3", t);
    CHECK(type_name(s2 + t) == "S2");
    CHECK(type_name(t + s2) == "S2");
    CHECK(type_name(s2 + s2) == "S2");
    CHECK(type_name(Op("select")(s2, 0, 0).tensor()) == "S2");
    for (const Tensor& a : {ss2, s2, t}) {
      CHECK(type_name(ss2 + a) == "SS2");
      CHECK(type_name(a + ss2) == "SS2");
    }
    CHECK(type_name(Op("select")(ss2, 0, 0).tensor()) == "SS2");
    CHECK((s2 + ss2).to_vector<float>() == std::vector<float>{2, 4});
    const std::string head =
        "no implementation found for 'tenon.add' on types that implement tenon_function: ";
    CHECK(type_error("add", s2, s3) == head + "[S2, S3]");
    CHECK(type_error("add", s3, s2) == head + "[S3, S2]");
    // Lists of results, results that are views, and what is changed in place.
    for (const Tensor& part : Op("split")(s2, 1).tensors()) CHECK(type_name(part) == "S2");
    CHECK(type_name(Op("add_")(s2, 1).tensor()) == "S2");
    CHECK(Op("add_")(s2, 1).tensor().is_same(s2));
    CHECK(type_name(t) == "Tensor");
  }

  TEST_CASE("F-318 what a type keeps goes through ops by its rule") {
    const Tensor t = tensor({1.0, 2.0});
    const Tensor a = make_one("Tagged", t, "left"), b = make_one("Tagged", t, "right");
    CHECK(text_of(tx("tag")(a + b)) == "'left'");
    CHECK(text_of(tx("tag")(t * b)) == "'right'");
    CHECK(text_of(tx("tag")(a.detach())) == "'left'");
    CHECK(text_of(tx("tag")(make_one("Merged", t, "l") + make_one("Merged", t, "r"))) == "'lr'");
  }

  TEST_CASE(
      "OV-20 F-113 F-139 F-145 F-146 F-147 F-148 a logging subclass sees each call once and never "
      "itself") {
    const Tensor x = make_one("Logging", tensor({1.0, 2.0}));
    tx("log")();
    const Tensor y = x + 1;
    const Tensor z = sum(y);
    CHECK(type_name(z) == "Logging");
    CHECK(tx("log")().text() ==
          "func: add, args: (Logging([1., 2.]), 1), kwargs: {}\n"
          "func: sum, args: (Logging([2., 3.]),), kwargs: {}\n");
    Op("add")(x, x, arg("alpha") = 2);
    CHECK(has(tx("log")().text(), "kwargs: {'alpha': 2}"));
  }

  TEST_CASE("a type handles the steps of a recurrent layer, not the layer as one op") {
    for (const std::string name : {"LSTM", "GRU"}) {
      CAPTURE(name);
      const Module module = Module::create(name, arg("input_size") = 3, arg("hidden_size") = 4);
      const auto run = [&](const Tensor& input) -> Tensor {
        using Lstm = std::tuple<Tensor, Tensor, Tensor>;
        if (name == "LSTM") return std::get<0>(module.call<Lstm>(input));
        return std::get<0>(module.call<std::tuple<Tensor, Tensor>>(input));
      };
      const Tensor plain_output = run(ones({2, 1, 3}));
      tx("log")();
      const Tensor output = run(make_one("Logging", ones({2, 1, 3})));
      const std::string text = tx("log")().text();
      const std::string op = name == "LSTM" ? "lstm" : "gru";
      CHECK(has(text, "func: " + op + "_step, "));
      CHECK_FALSE(has(text, "func: " + op + ", "));
      CHECK(type_name(output) == "Logging");
      CHECK(output.detach().to_vector<float>() == plain_output.detach().to_vector<float>());
    }
  }

  TEST_CASE("F-112 arguments arrive as they are written, whichever way the op is called") {
    const Tensor x = make_one("Logging", tensor({1.0, 2.0}));
    const auto seen = [](auto&& call) {
      tx("log")();
      call();
      const std::string text = tx("log")().text();
      return text.substr(text.find(", args: ") + 2, text.find('\n') - text.find(", args: ") - 2);
    };
    const std::string l = "Logging([1., 2.])";
    const Op add_op("add"), sum_op("sum"), scaled = tx("scaled_sum");
    CHECK(seen([&] { sum_op(arg("input") = x); }) == "args: (), kwargs: {'input': " + l + "}");
    CHECK(seen([&] { sum_op(x, none); }) == "args: (" + l + ", None), kwargs: {}");
    CHECK(seen([&] { add_op(x, 1, arg("alpha") = 1); }) ==
          "args: (" + l + ", 1), kwargs: {'alpha': 1}");
    CHECK(seen([&] { add_op(arg("other") = 1, arg("input") = x); }) ==
          "args: (), kwargs: {'other': 1, 'input': " + l + "}");
    // Before conversions.
    CHECK(seen([&] { scaled(x, 1); }) == "args: (" + l + ", 1), kwargs: {}");
    CHECK(seen([&] { sum_op(x, 0); }) == "args: (" + l + ", 0), kwargs: {}");
    // Wrappers, methods and operators: what equals the default, at the end, counts as not given.
    CHECK(seen([&] { add(x, 1); }) == "args: (" + l + ", 1), kwargs: {}");
    CHECK(seen([&] { x.add(1, 2); }) == "args: (" + l + ", 1), kwargs: {'alpha': 2}");
    CHECK(seen([&] { 1 + x; }) == "args: (1, " + l + "), kwargs: {}");
    CHECK(seen([&] { sum(x, none, true); }) == "args: (" + l + ", None, True), kwargs: {}");
    // Configured ops, from code and JSON: what was configured, no more.
    CHECK(seen([&] { configure("add", arg("alpha") = 1)(x, 1); }) ==
          "args: (" + l + ", 1), kwargs: {'alpha': 1}");
    CHECK(seen([&] { configure(Json::parse(R"({"op": "add", "alpha": 1})"))(x, 1); }) ==
          "args: (" + l + ", 1), kwargs: {'alpha': 1}");
    CHECK(seen([&] { configure(Json::parse(R"({"op": "add"})"))(x, 1); }) ==
          "args: (" + l + ", 1), kwargs: {}");
    {
      TraceScope trace;
      add_op(x, 1, arg("alpha") = 1);
      CHECK(has(trace.text(), "call add(Logging f32[2], 1, alpha=1)\n"));
    }
    // A call that is repeated with other operands keeps its form: by a fallback, and by call_with.
    const Tensor converting = scalar_tensor(2, 2, "Converting");
    TraceScope trace;
    add_op(converting, arg("other") = 1, arg("alpha") = 1);
    CHECK(has(trace.text(), "call add(Tensor f32[2, 2], other=1, alpha=1)\n"));
    add_op(arg("input") = make_one("Meta", plain, ""), arg("other") = 1, arg("alpha") = 1);
    CHECK(has(trace.text(), "call add(input=Tensor i64[2, 2], other=1, alpha=1)\n"));
  }

  TEST_CASE("OV-26 F-114 F-119 F-120 F-121 F-133 F-137 F-147 ScalarTensor adds by its table") {
    CHECK(answer("add", scalar_tensor(2, 2), scalar_tensor(2, 2)) == "ScalarTensor(N=2, value=4)");
    const std::string dense = "tensor([[3., 1.],\n        [1., 3.]])";
    CHECK(answer("add", scalar_tensor(2, 2), plain) == dense);
    CHECK(answer("add", plain, scalar_tensor(2, 2)) == dense);
    CHECK((scalar_tensor(2, 2) + plain).text() == dense);
    CHECK(scalar_tensor(2, 2).add(plain).text() == dense);
    const Refusal mismatch = refusal([] { Op("add")(scalar_tensor(2, 2), scalar_tensor(3, 2)); });
    CHECK(mismatch.kind == TENON_ERROR_VALUE);
    CHECK(mismatch.text == "Shape mismatch!");
    CHECK(type_error("add", scalar_tensor(2, 2), scalar_tensor(2, 2), arg("alpha") = 2) ==
          "add() got an unexpected keyword argument 'alpha'");
    CHECK(answer("mul", scalar_tensor(2, 2, "Converting"), scalar_tensor(2, 2, "Converting")) ==
          "tensor([[4., 0.],\n        [0., 4.]])");
  }

  TEST_CASE(
      "OV-27 F-150 F-151 F-152 F-153 F-154 F-155 F-156 F-157 F-158 a wrapper carries what it knows "
      "through every op") {
    const Tensor m = make_one("Meta", tensor({{1, 2}, {3, 4}}), "first");
    const Tensor t = tensor({{1, 2}, {1, 2}});
    CHECK(answer("add", t, m) == "Meta:\nfirst\n\ndata:\ntensor([[2, 4],\n        [4, 6]])");
    CHECK(answer("mul", t, m) == "Meta:\nfirst\n\ndata:\ntensor([[1, 4],\n        [3, 8]])");
    const Tensor other = make_one("Meta", t, "second");
    CHECK(has(answer("add", m, other), "first"));
    CHECK(has(answer("add", other, m), "second"));
    CHECK(sum(m).item() == 10);
    CHECK(Op("cat")(std::vector<Tensor>{t, m}).tensor().text().substr(0, 11) == "Meta:\nfirst");
  }

  TEST_CASE("F-108 F-109 F-110 a tensor-like has its own text, and a conversion to Tensor") {
    const Tensor s = scalar_tensor(3, 2);
    CHECK(s.text() == "ScalarTensor(N=3, value=2)");
    CHECK(ensure_tensor(s).text() ==
          "tensor([[2., 0., 0.],\n        [0., 2., 0.],\n        [0., 0., 2.]])");
  }

  TEST_CASE("F-118 what is to be a tensor is made one: types, numbers, lists of numbers") {
    CHECK(type_name(ensure_tensor(Argument(scalar_tensor(2, 2)))) == "Tensor");
    CHECK(ensure_tensor(Argument(2)).text() == "tensor(2)");
    CHECK(ensure_tensor(Argument(2.5)).text() == "tensor(2.5000)");
    CHECK(ensure_tensor(Argument(true)).text() == "tensor(True)");
    CHECK(ensure_tensor(Argument(std::vector<int64_t>{1, 2})).text() == "tensor([1, 2])");
    CHECK(ensure_tensor(Argument(std::vector<double>{1, 2.5})).text() ==
          "tensor([1.0000, 2.5000])");
    CHECK(refusal([] { ensure_tensor(Argument("no")); }).kind == TENON_ERROR_TYPE);
  }

  TEST_CASE("F-115 operands of a type that an override does not accept are not its business") {
    CHECK(has(type_error("add", scalar_tensor(2, 2), make_one("Bare")), "[ScalarTensor]"));
  }

  TEST_CASE("F-134 a fallback converts operands by position, by name and in lists") {
    const Tensor c = scalar_tensor(2, 2, "Converting");
    const std::string dense = "tensor([[2., 2.],\n        [2., 2.]])";
    const Tensor t = ones({2, 2});
    CHECK(answer("mm", t, arg("mat2") = c) == dense);
    CHECK(answer("mm", arg("input") = t, arg("mat2") = c) == dense);
    CHECK(Op("cat")(std::vector<Tensor>{c, t}).tensor().shape()[0] == 4);
    CHECK(type_name(Op("mul")(c, c).tensor()) == "Tensor");
  }

  TEST_CASE("F-116 F-123 an override is listed under its op, with what its signature lacks") {
    const Json listed = listing::type("ScalarTensor")["overrides_in_force"];
    REQUIRE(listed.size() >= 1);
    CHECK(listed[0]["op"].text() == "add");
    CHECK(listed[0]["provider"].text() == "types");
    CHECK(listed[0]["signature_differs"].text() == "lacks alpha, out");
  }

  TEST_CASE("F-135 F-277 a wrapper written as descriptor only") {
    const Tensor w = make_one("Wrapper", tensor({1, 2}), "w");
    CHECK(answer("add", tensor({1, 1}), w) == "w: tensor([2, 3])");
    for (const Tensor& part : Op("split")(w, 1).tensors()) CHECK(type_name(part) == "Wrapper");
  }

  TEST_CASE("F-138 F-319 calling the op again from inside its own handler is explained") {
    const Tensor x = make_one("Recursing", tensor({1.0}));
    const Refusal refused = refusal([&] { Op("add")(x, 1); });
    CHECK(refused.kind == TENON_ERROR_RUNTIME);
    CHECK(has(refused.text, "handler of Recursing for add -> handler of Recursing for add"));
    CHECK(has(refused.text, "call_parent"));
  }

  TEST_CASE("handlers that throw or return nonsense are refused, and the table still answers") {
    const Tensor x = make_one("Faulty", tensor({1.0}));
    CHECK(refusal([&] { Op("neg")(x); }).kind == TENON_ERROR_RUNTIME);
    CHECK(text_of(Op("abs")(x)) == "None");  // F-162: a none is an answer
    CHECK(has(type_error("exp", x), "returned an invalid value"));
    CHECK(type_name(Op("sqrt")(x).tensor()) == "Faulty");
  }

  TEST_CASE("F-278 a type that is never an operand") {
    CHECK(type_error("add", make_one("Never"), 1) ==
          "add(): Never is declared never to be an operand (by plugin 'types')");
  }

  TEST_CASE("F-280 operands in out, in a list or by name take part") {
    const Tensor d = make_one("D");
    CHECK(has(type_error("mul", plain, plain, arg("out") = d), "[D]"));
    CHECK(has(type_error("cat", std::vector<Tensor>{plain, d}), "[D]"));
    CHECK(answer("mm", plain, arg("mat2") = d) == "0");
  }

  TEST_CASE("F-281 factories are dispatched by an example") {
    const std::vector<int64_t> size{2};
    const auto like = [&](const char* op, const Tensor& example) {
      return Op(op)(size, arg("like") = example).tensor();
    };
    const Tensor child = make_one("S2", tensor({1.0f})).requires_grad_();
    for (const char* op : {"empty", "zeros", "ones", "rand", "randn"}) {
      CHECK(type_name(like(op, child)) == "S2");
      CHECK(type_name(like(op, plain)) == "Tensor");
      CHECK(!like(op, child).requires_grad());
    }
    CHECK(type_name(Op("eye")(2, arg("like") = child).tensor()) == "S2");
    CHECK(type_name(Op("full")(size, 3, arg("like") = child).tensor()) == "S2");
    CHECK(type_name(Op("arange")(3, arg("like") = child).tensor()) == "S2");
    CHECK(like("ones", make_one("Wrapper", plain, "w")).text() == "w: tensor([1., 1.])");
    CHECK(like("ones", make_one("Meta", plain, "m")).text().substr(0, 7) == "Meta:\nm");
    CHECK(has(type_error("zeros", size, arg("like") = make_one("D")), "'tenon.zeros'"));
    CHECK(type_error("zeros", size, arg("like") = make_one("Bare")) ==
          "zeros(): argument 'like' must be Tensor, not Bare");
  }

  TEST_CASE("what has no data is refused where data is needed") {
    const Tensor bare = make_one("Bare");
    CHECK(refusal([&] { Tensor(bare).requires_grad_(); }).kind == TENON_ERROR_TYPE);
    CHECK(refusal([&] { bare.item(); }).kind == TENON_ERROR_TYPE);
    CHECK(refusal([&] { copy_elements(plain, bare); }).kind == TENON_ERROR_TYPE);
    CHECK(refusal([&] { alias_tensor(bare, {}, {}, 0); }).kind == TENON_ERROR_TYPE);
    CHECK(bare.text() == "Bare(size=[])");
  }

  TEST_CASE("subclasses of Tensor are recorded like any tensor") {
    const Tensor data = tensor({1.0, 2.0});
    const Tensor x = make_one("S2", Tensor(data).requires_grad_());
    const Tensor y = sum(x * x);
    CHECK(type_name(y) == "S2");
    y.backward();
    CHECK(data.grad().to_vector<float>() == std::vector<float>{2, 4});
  }

  TEST_CASE("F-238 a type falls back for the ops that the config allows") {
    const Tensor x = scalar_tensor(2, 2, "Converting");
    const auto allow = [](const std::string& settings) {
      apply_policy(Json::parse(R"({"types": {"Converting": )" + settings + "}}"));
    };
    allow(R"({"fallback_ops": {"deny": ["neg"]}})");
    CHECK(has(type_error("neg", x), "[Converting]"));
    CHECK(answer("mul", x, 1) == "tensor([[2., 0.],\n        [0., 2.]])");
    allow(R"({"fallback": "decline"})");
    type_error("mul", x, 1);
    allow("{}");
    CHECK(answer("neg", x) == "tensor([[-2., -0.],\n        [-0., -2.]])");
  }
}
