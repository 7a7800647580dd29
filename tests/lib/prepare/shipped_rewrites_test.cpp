// Rewrites that shipped plugins declare: chains as exporters write them give what they give unprepared, with any
// shape, dtype, layout and special values.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/lib/prepare/support.hpp"

using namespace preparing;

namespace {

// The nodes of a graph over x, and over constants.
class Nodes {
 public:
  Nodes& add(const std::string& name, const std::string& op, const std::string& inputs,
             const std::string& attributes = "") {
    text_ += (text_.empty() ? "\"" : ", \"") + name + R"(": {"op": ")" + op + R"(", "inputs": [)" +
             inputs + "]" + (attributes.empty() ? "" : ", " + attributes) + "}";
    return *this;
  }
  // Numbers between -1 and 1, a constant of the list.
  Nodes& constant(const std::string& name, std::vector<int64_t> shape, const char* dtype = "f32") {
    int64_t count = 1;
    std::string sizes;
    for (const int64_t size : shape) {
      count *= size;
      sizes += (sizes.empty() ? "" : ", ") + std::to_string(size);
    }
    add(name + "_a", "arange", "1, " + std::to_string(count + 1),
        std::string(R"("dtype": ")") + dtype + "\"");
    add(name + "_s", "sin", "\"" + name + "_a\"");
    return add(name, "reshape", "\"" + name + "_s\"", R"("shape": [)" + sizes + "]");
  }
  Module model(const std::string& output, const std::string& inputs = R"("x")") const {
    return model_of(R"({"type": "Graph", "inputs": [)" + inputs + R"(], "nodes": {)" + text_ +
                    R"(}, "outputs": [)" + output + "]}");
  }

 private:
  std::string text_;
};

double at(const Tensor& flat, int64_t i) {
  return flat.dtype() == f64 ? flat.data<const double>()[i]
                             : static_cast<double>(flat.data<const float>()[i]);
}
// Whether numbers differ by at most `bound` of the largest one; NaN and infinities are in the same places.
bool close(const Tensor& expected, const Tensor& found, double bound) {
  if (expected.dtype() != found.dtype() || expected.sizes() != found.sizes()) return false;
  const Tensor a = contiguous_as(expected, expected.dtype()),
               b = contiguous_as(found, found.dtype());
  double largest = 0;
  for (int64_t i = 0; i < a.numel(); ++i) {
    if (std::isfinite(at(a, i))) largest = std::max(largest, std::abs(at(a, i)));
  }
  for (int64_t i = 0; i < a.numel(); ++i) {
    const double one = at(a, i), other = at(b, i);
    if (std::isnan(one) != std::isnan(other) || std::isinf(one) != std::isinf(other) ||
        (std::isinf(one) && one != other) ||
        (std::isfinite(one) && std::abs(one - other) > bound * largest)) {
      MESSAGE("element " << i << ": expected " << one << ", got " << other);
      return false;
    }
  }
  return true;
}

// How often a rule was used, where the prepared model gives what the model gives.
int64_t uses(const Module& model, const std::vector<Tensor>& inputs, const std::string& rule,
             double bound) {
  const NoGrad no_grad;
  const Prepared prepared = prepare(model);
  const size_t results = result_count(model);
  const std::vector<Tensor> expected = call(model, results, inputs),
                            found = call(prepared, results, inputs);
  const PreparedList list = prepared.lists().front();
  CHECK(list.reason == "");
  for (size_t i = 0; i < expected.size(); ++i)
    CHECK((bound == 0 ? same_bits(expected[i], found[i]) : close(expected[i], found[i], bound)));
  for (const std::string& one : list.refused) MESSAGE(one);
  for (const rewrites::Applied& one : list.rewrites) {
    if (one.rule == rule) return one.count;
  }
  return 0;
}

// Inputs whose last size is n: of several ranks, dtypes and strides, some with special values.
std::vector<Tensor> inputs_of(int64_t n, DType dtype, bool infinite = true) {
  constexpr double inf = std::numeric_limits<double>::infinity(),
                   nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<Tensor> list;
  for (const std::vector<int64_t>& shape :
       {std::vector<int64_t>{1, n}, {5, n}, {2, 3, n}, {2, 2, 3, n}, {0, n}})
    list.push_back((randn(shape) * 2).to(dtype));
  list.push_back(randn({n, 4}).to(dtype).transpose(0, 1));
  list.push_back(randn({4, 2 * n}).to(dtype).narrow(1, n, n));
  Tensor special = randn({4, n}).to(dtype);
  special.select(0, 0).select(0, 0).fill_(-0.0);
  special.select(0, 1).select(0, n - 1).fill_(nan);
  if (infinite) special.select(0, 2).select(0, 0).fill_(inf);
  if (infinite) special.select(0, 3).select(0, n - 1).fill_(-inf);
  list.push_back(special);
  return list;
}

void check_chain(const Nodes& nodes, const std::string& rule, double bound, int64_t n = 24,
                 bool infinite = true) {
  for (const DType dtype : {f32, f64}) {
    int i = 0;
    for (const Tensor& input : inputs_of(n, dtype, infinite)) {
      INFO(rule << ", input " << i++ << " of " << dtype_text(dtype));
      CHECK(uses(nodes.model(R"("y")"), {input}, rule, bound) >= 1);
    }
  }
}

}  // namespace

TEST_SUITE("lib/prepare/shipped_rewrites") {
  TEST_CASE("GELU by the error function is one op in each form") {
    const auto gate = [](const char* op, const char* root) {
      return Nodes()
          .add("d", op, std::string("\"x\", ") + root)
          .add("e", "erf", R"("d")")
          .add("g", "add", R"("e", 1)");
    };
    check_chain(gate("div", "1.4142135623730951")
                    .add("m", "mul", R"("x", "g")")
                    .add("y", "mul", R"("m", 0.5)"),
                "nn.gelu_by_division_1", 2e-6);
    check_chain(gate("mul", "0.7071067811865476")
                    .add("h", "mul", R"("x", 0.5)")
                    .add("y", "mul", R"("h", "g")"),
                "nn.gelu_by_product_2", 2e-6);
    check_chain(gate("mul", "0.7071067811865476")
                    .add("h", "mul", R"("x", 0.5)")
                    .add("y", "mul", R"("g", "h")"),
                "nn.gelu_by_product_3", 2e-6);
    check_chain(gate("div", "1.4142135623730951")
                    .add("h", "mul", R"("g", 0.5)")
                    .add("y", "mul", R"("x", "h")"),
                "nn.gelu_by_division_4", 2e-6);
  }

  TEST_CASE("another root than that of two is left") {
    const Nodes nodes = Nodes()
                            .add("d", "div", R"("x", 1.5)")
                            .add("e", "erf", R"("d")")
                            .add("g", "add", R"("e", 1)")
                            .add("m", "mul", R"("x", "g")")
                            .add("y", "mul", R"("m", 0.5)");
    CHECK(uses(nodes.model(R"("y")"), {randn({3, 4})}, "nn.gelu_by_division_1", 0) == 0);
  }

  TEST_CASE("GELU by a hyperbolic tangent is one op, with the cube as a power or as products") {
    const auto rest = [](Nodes nodes) {
      return nodes.add("c", "mul", R"("p", 0.044715)")
          .add("s", "add", R"("x", "c")")
          .add("k", "mul", R"("s", 0.7978845608028654)")
          .add("t", "tanh", R"("k")")
          .add("g", "add", R"("t", 1)")
          .add("m", "mul", R"("x", "g")")
          .add("y", "mul", R"("m", 0.5)");
    };
    check_chain(rest(Nodes().add("p", "pow", R"("x", 3)")), "nn.gelu_by_tanh_1", 2e-6);
    check_chain(rest(Nodes().add("q", "mul", R"("x", "x")").add("p", "mul", R"("x", "q")")),
                "nn.gelu_by_tanh_1", 2e-6);
  }

  TEST_CASE("SiLU is one op") {
    check_chain(Nodes().add("s", "sigmoid", R"("x")").add("y", "mul", R"("x", "s")"), "nn.silu",
                2e-6);
    check_chain(Nodes().add("s", "sigmoid", R"("x")").add("y", "mul", R"("s", "x")"),
                "nn.silu_from_right", 2e-6);
  }

  TEST_CASE("layer norm is one op in each form, with scale and shift") {
    const auto variance = [] {
      return Nodes()
          .add("m", "mean", R"("x")", R"("dim": [-1], "keepdim": true)")
          .add("d", "sub", R"("x", "m")")
          .add("q", "mul", R"("d", "d")")
          .add("v", "mean", R"("q")", R"("dim": [-1], "keepdim": true)")
          .add("e", "add", R"("v", 1e-5)");
    };
    const Nodes divided = variance().add("r", "sqrt", R"("e")");
    check_chain(Nodes(divided).add("y", "div", R"("d", "r")"), "nn.layer_norm_by_division", 1e-4,
                24, false);
    check_chain(variance().add("r", "rsqrt", R"("e")").add("y", "mul", R"("d", "r")"),
                "nn.layer_norm_by_root", 1e-4, 24, false);
    check_chain(Nodes(divided).add("i", "reciprocal", R"("r")").add("y", "mul", R"("d", "i")"),
                "nn.layer_norm_by_inverse", 1e-4, 24, false);
    const Module affine = Nodes(divided)
                              .constant("w", {24})
                              .constant("b", {24})
                              .add("n", "div", R"("d", "r")")
                              .add("s", "mul", R"("w", "n")")
                              .add("y", "add", R"("b", "s")")
                              .model(R"("y")");
    for (const Tensor& input : inputs_of(24, f32, false)) {
      CHECK(uses(affine, {input}, "nn.layer_norm_weight", 1e-4) == 1);
      CHECK(uses(affine, {input}, "nn.layer_norm_bias", 1e-4) == 1);
    }
  }

  TEST_CASE("RMS norm is one op in each form") {
    const auto squares = [] {
      return Nodes()
          .add("q", "mul", R"("x", "x")")
          .add("v", "mean", R"("q")", R"("dim": [-1], "keepdim": true)")
          .add("e", "add", R"("v", 1e-6)");
    };
    check_chain(squares().add("r", "rsqrt", R"("e")").add("y", "mul", R"("x", "r")"),
                "nn.rms_norm_by_root", 1e-4, 24, false);
    check_chain(squares().add("r", "sqrt", R"("e")").add("y", "div", R"("x", "r")"),
                "nn.rms_norm_by_division", 1e-4, 24, false);
  }

  TEST_CASE("a product with a constant and a bias is linear") {
    for (const int64_t outputs : {1, 7, 40}) {
      const Nodes nodes = Nodes()
                              .constant("w", {24, outputs})
                              .constant("b", {outputs})
                              .add("p", "matmul", R"("x", "w")")
                              .add("y", "add", R"("b", "p")");
      for (const Tensor& input : inputs_of(24, f32))
        CHECK(uses(nodes.model(R"("y")"), {input}, "nn.matmul_and_bias", 1e-5) == 1);
    }
  }

  TEST_CASE("linear of one row reads packed weights, for any number of outputs") {
    const auto used = [](int64_t inputs, int64_t outputs, const std::vector<int64_t>& shape) {
      const Module model = model_of(
          R"({"type": "Sequential", "layers": [{"type": "Linear", "in_features": )" +
          std::to_string(inputs) + R"(, "out_features": )" + std::to_string(outputs) + "}]}");
      return uses(model, {randn(shape)}, "nn.pack_linear", 1e-5) == 1;
    };
    for (const int64_t inputs : {8, 17, 64, 200}) {
      for (const int64_t outputs : {8, 16, 17, 31, 48, 64, 100, 128, 300}) {
        CHECK(used(inputs, outputs, {1, inputs}));
        CHECK(used(inputs, outputs, {1, 1, inputs}));
      }
    }
    CHECK_FALSE(used(600, 16, {1, 600}));
    CHECK(used(600, 16, {2, 600}));
  }

  TEST_CASE("attention is one op: scaled before, after or not, with a mask or without") {
    const auto model = [](const std::string& before, const std::string& after, bool mask) {
      Nodes nodes;
      if (mask) nodes.constant("mask", {5, 6});
      nodes.add("k", "transpose", R"("b")", R"("dim0": -2, "dim1": -1)");
      std::string q = "\"a\"", s = "\"s\"";
      if (!before.empty()) {
        nodes.add("q", before, R"("a", 2.5)");
        q = "\"q\"";
      }
      nodes.add("s", "matmul", q + R"(, "k")");
      if (!after.empty()) {
        nodes.add("t", after, R"("s", 2.5)");
        s = "\"t\"";
      }
      if (mask) {
        nodes.add("u", "add", s + R"(, "mask")");
        s = "\"u\"";
      }
      return nodes.add("p", "nn.functional.softmax", s, R"("dim": -1)")
          .add("y", "matmul", R"("p", "c")")
          .model(R"("y")", R"("a", "b", "c")");
    };
    struct Form {
      std::string before, after, rule;
      bool mask;
    };
    for (const Form& form :
         {Form{"", "", "nn.attention", false}, Form{"", "div", "nn.attention_divided", false},
          Form{"", "mul", "nn.attention_scaled", false}, Form{"", "", "nn.attention_masked", true},
          Form{"", "div", "nn.attention_divided_and_masked", true},
          Form{"", "mul", "nn.attention_scaled_and_masked", true},
          Form{"div", "", "nn.attention_of_divided_queries", false},
          Form{"mul", "", "nn.attention_of_scaled_queries", false}}) {
      for (const std::vector<int64_t>& batch : {std::vector<int64_t>{3}, {2, 4}}) {
        const auto tensor = [&](int64_t rows, int64_t columns) {
          std::vector<int64_t> shape = batch;
          shape.push_back(rows);
          shape.push_back(columns);
          return randn(shape);
        };
        INFO(form.rule);
        CHECK(uses(model(form.before, form.after, form.mask),
                   {tensor(5, 8), tensor(6, 8), tensor(6, 3)}, form.rule, 1e-5) == 1);
      }
    }
  }

  TEST_CASE("views that cancel are left out, bit for bit") {
    const auto twice = [](const std::string& first, const std::string& second) {
      return Nodes()
          .add("a", "permute", R"("x")", "\"dims\": " + first)
          .add("b", "permute", R"("a")", "\"dims\": " + second)
          .add("y", "tanh", R"("b")");
    };
    const Tensor x = randn({2, 3, 4});
    CHECK(uses(twice("[2, 0, 1]", "[1, 2, 0]").model(R"("y")"), {x}, "math.permuted_twice_3", 0) ==
          1);
    CHECK(uses(twice("[2, 0, 1]", "[1, 2, 0]").model(R"("y")"), {x}, "math.permute_3", 0) == 1);
    CHECK(uses(twice("[2, 0, 1]", "[2, 0, 1]").model(R"("y")"), {x}, "math.permute_3", 0) == 0);
    CHECK(uses(Nodes()
                   .add("a", "reshape", R"("x")", R"("shape": [6, 4])")
                   .add("b", "reshape", R"("a")", R"("shape": [2, -1])")
                   .add("y", "tanh", R"("b")")
                   .model(R"("y")"),
               {x}, "math.reshaped_twice", 0) == 1);
    CHECK(uses(Nodes()
                   .add("a", "unsqueeze", R"("x")", R"("dim": 1)")
                   .add("b", "squeeze", R"("a")", R"("dim": 1)")
                   .add("y", "tanh", R"("b")")
                   .model(R"("y")"),
               {x}, "math.squeezed_back", 0) == 1);
  }

  TEST_CASE("a sum with zero is left out where it changes no bit") {
    const auto model = [](const std::string& op, const std::string& number) {
      return Nodes()
          .add("a", "neg", R"("x")")
          .add("b", op, "\"a\", " + number)
          .add("y", "neg", R"("b")")
          .model(R"("y")");
    };
    for (const Tensor& input : inputs_of(3, f32)) {
      const Tensor x = input.dim() == 2 && input.numel() > 0 ? input : randn({2, 3});
      CHECK(uses(model("mul", "1"), {x}, "math.mul_by_one", 0) == 1);
      CHECK(uses(model("div", "1"), {x}, "math.div_by_one", 0) == 1);
      CHECK(uses(model("sub", "0"), {x}, "math.sub_zero", 0) == 1);
      CHECK(uses(model("add", "-0.0"), {x}, "math.add_minus_zero", 0) == 1);
      CHECK(uses(model("add", "0.0"), {x}, "math.add_minus_zero", 0) == 0);
      CHECK(uses(model("sub", "-0.0"), {x}, "math.sub_zero", 0) == 0);
    }
  }

  TEST_CASE("composites of ONNX become the ops that they call, bit for bit") {
    const auto chain = [](const std::string& op, const std::string& inputs,
                          const std::string& attributes = "") {
      return Nodes()
          .constant("w", {7, 24})
          .constant("b", {7})
          .add("two", "full", "[], 2.0")
          .add("y", op, inputs, attributes)
          .model(R"("y")");
    };
    for (const Tensor& input : inputs_of(24, f32)) {
      const Tensor x = input.clone();
      CHECK(uses(chain("onnx.div", R"("x", "two")"), {x}, "onnx.div_of_numbers", 0) == 1);
      CHECK(uses(chain("onnx.pow", R"("x", "two")"), {x}, "onnx.pow_square", 0) == 1);
      CHECK(uses(chain("onnx.reduce", R"("x")", R"("axes": [-1], "kind": "mean")"), {x},
                 "onnx.mean_of_axes", 0) == 1);
      if (x.dim() == 2)
        CHECK(uses(chain("onnx.gemm", R"("x", "w", "b")", R"("transB": true)"), {x},
                   "onnx.gemm_linear", 1e-5) == 1);
    }
    const Tensor x = randn({2, 3, 4});
    const auto bent = [](const std::string& op, const std::string& attributes) {
      return Nodes().add("a", op, R"("x")", attributes).add("y", "tanh", R"("a")").model(R"("y")");
    };
    CHECK(uses(bent("onnx.transpose", R"("perm": [1, 2, 0])"), {x}, "onnx.transpose_by_perm", 0) ==
          1);
    CHECK(uses(bent("onnx.reshape", R"("shape": [4, -1])"), {x}, "onnx.reshape_to_sizes", 0) == 1);
    CHECK(uses(bent("onnx.reshape", R"("shape": [0, -1])"), {x}, "onnx.reshape_to_sizes", 0) == 0);
  }

  TEST_CASE("the gates of an ONNX LSTM are put in order once") {
    for (const char* direction : {"forward", "reverse"}) {
      for (const bool bias : {false, true}) {
        for (const int64_t steps : {1, 3, 12}) {
          const Module model = Nodes()
                                   .constant("w", {1, 20, 4})
                                   .constant("r", {1, 20, 5})
                                   .constant("b", {1, 40})
                                   .add("y", "onnx.lstm",
                                        std::string(R"("x", "w", "r", )") +
                                            (bias ? "\"b\"" : "null") + R"(, null, "h", "c")",
                                        std::string(R"("direction": ")") + direction + "\"")
                                   .model(R"("y.Y", "y.Y_h", "y.Y_c")", R"("x", "h", "c")");
          INFO(direction << ", " << steps << " steps, bias " << bias);
          CHECK(uses(model, {randn({steps, 2, 4}), randn({1, 2, 5}), randn({1, 2, 5})},
                     bias ? "onnx.lstm_of_constants" : "onnx.lstm_without_bias", 1e-4) == 1);
        }
      }
    }
  }
}
