// Tensor types that are made of tensors: what their components carry counts everywhere, or the call
// refuses; and what a file keeps of them.
#include <cmath>
#include <fstream>
#include <map>
#include <random>

#include <tenon/state/module_file.hpp>
#include <tenon/state/tensor_file.hpp>

#include "tests/sdk/functions.hpp"

using namespace functions;

namespace {

Op wr(const std::string& name) {
  static const bool found = (add_plugin_path(TENON_FIXTURES "/wrappers"), true);
  (void)found;
  return Op("wr." + name);
}
Tensor make_one(const std::string& type, const Tensor& first, const Tensor& second = {},
                const std::string& label = "") {
  return wr("make").call<Tensor>(type, first, second, label);
}
Tensor matrix(std::vector<double> values, int64_t columns) {
  return row(values).reshape({-1, columns});
}
Numbers gradient(const Tensor& of, const Tensor& x) {
  return numbers(ensure_tensor(gradients({sum(ensure_tensor(of))}, {x}, recorded())[0]));
}

// A type with the fixture's name, its members in another order.
struct Unlike {
  static constexpr auto name = "Unlike";
  Tensor data;
  int64_t size = 0;
};
// As in the fixture.
struct Boxed {
  static constexpr auto name = "Boxed";
  Tensor data;
  static constexpr Component<Boxed> components[] = {{"data", &Boxed::data}};
};
struct Labelled {
  static constexpr auto name = "Labelled";
  Tensor data;
  std::string label;
  static constexpr Component<Labelled> components[] = {{"data", &Labelled::data}};
};
// Without its members: reads no payload.
struct Handled {
  static constexpr auto name = "Handled";
};

}  // namespace

TEST_SUITE("sdk/components") {
  TEST_CASE("an override with a backward leads to the history of the components") {
    const Tensor indices = tensor({2, 0}), values = matrix({1, 2, 3, 4, 5, 6}, 3).requires_grad_();
    const Tensor a = make_one("Rows", indices, values);
    CHECK(a.dtype() == f64);
    CHECK(a.requires_grad());
    CHECK(!a.is_leaf());
    CHECK(a.grad_fn().name() == "FromComponentsBackward0");
    const Tensor other = matrix({1, 2, 3, 4, 5, 6}, 2).requires_grad_();
    const Tensor product = tenon::matmul(a, other);
    CHECK(product.grad_fn().name() == "MatmulBackward");
    sum(product).backward();
    CHECK(numbers(values.grad()) == Numbers{3, 7, 11, 3, 7, 11});
    CHECK(other.grad().defined());
    // One that has come to its history later.
    const Tensor late = matrix({1, 2, 3}, 3), b = make_one("Rows", tensor({1}), late);
    CHECK(!b.requires_grad());
    Tensor(late).requires_grad_();
    CHECK(b.requires_grad());
    sum(tenon::matmul(b, other.detach())).backward();
    CHECK(numbers(late.grad()) == Numbers{3, 7, 11});
  }

  TEST_CASE("a gradient that a type cannot split is refused, and so is one that is lost") {
    const Tensor values = matrix({1, 2, 3}, 3).requires_grad_();
    const Tensor a = make_one("Rows", tensor({1}), values);
    const Tensor y = Op("mv")(a, row({1, 1, 1})).tensor();
    const Refusal refused = refusal([&] { sum(y).backward(); });
    CHECK(refused.kind == TENON_ERROR_NOT_IMPLEMENTED);
    CHECK(has(refused.text, "no gradient reaches the components 'indices', 'values' of type Rows"));
    const Tensor negated = tenon::neg(a);
    CHECK(
        has(refusal([&] { negated.backward(make_one("Rows", tensor({1}), values.detach())); }).text,
            "the override neg[Rows] (plugin 'wrappers') returned a tensor without a history"));
    CHECK(!values.grad().defined());
  }

  TEST_CASE("an override with a backward may decline, and then nothing is recorded for it") {
    const Tensor values = matrix({1, 2, 3}, 3).requires_grad_();
    const Tensor a = make_one("Rows", tensor({1}), values);
    const Refusal refused = refusal([&] { tenon::matmul(a, tensor({{1}, {2}, {3}})); });
    CHECK(refused.kind == TENON_ERROR_TYPE);
    CHECK(has(refused.text, "no implementation found for 'tenon.matmul'"));
  }

  TEST_CASE("a dense gradient goes through the type's conversion, twice as well") {
    const Tensor u = leaf({1, 2}), v = leaf({3, 4}), x = leaf({5, 6});
    const Tensor p = make_one("Product", u, v);
    const Tensor y = tenon::mul(p, x);
    CHECK(y.grad_fn().name() == "MulBackward");
    CHECK(gradient(y, u) == Numbers{15, 24});
    CHECK(gradient(y, v) == Numbers{5, 12});
    CHECK(gradient(y, x) == Numbers{3, 8});
    const Tensor first = gradients({sum(y)}, {u}, recorded())[0];
    CHECK(gradient(first, v) == Numbers{5, 6});
    // The conversion, and a fallback.
    CHECK(gradient(ensure_tensor(p), u) == Numbers{3, 4});
    CHECK(gradient(exp(p), u)[0] == doctest::Approx(3 * std::exp(3.0)));
    const Tensor opaque = make_one("Opaque", u, v);
    const Tensor lost = sum(ensure_tensor(opaque));
    CHECK(has(refusal([&] { lost.backward(); }).text, "its to_tensor returns a tensor without"));
    CHECK(!u.grad().defined());
  }

  TEST_CASE("wrappers of computed tensors have their history; so have those inside of others") {
    const Tensor x = leaf({1, 2});
    for (const char* type : {"Boxed", "Handled"}) {
      CAPTURE(type);
      const Tensor w = make_one(type, x * 2);
      CHECK(w.requires_grad());
      CHECK(gradient(w, x) == Numbers{2, 2});
      CHECK(gradient(w * 3, x) == Numbers{6, 6});
      CHECK(gradient(cat({w, w}, 0), x) == Numbers{4, 4});
      CHECK(gradient(sin(w), x)[0] == doctest::Approx(2 * std::cos(2.0)));
      const Tensor nested = tenon::make<Boxed>(make_one(type, x * x));
      CHECK(nested.requires_grad());
      CHECK(!as<Boxed>(nested.detach()).data.requires_grad());
    }
  }

  TEST_CASE("detach takes the history of components off, requires_grad_ is theirs") {
    const Tensor x = leaf({1, 2});
    Tensor w = make_one("Boxed", x * 2);
    const Tensor free = w.detach();
    CHECK(!free.requires_grad());
    CHECK(!as<Boxed>(free).data.requires_grad());
    CHECK(!(free * 2).requires_grad());
    CHECK(w.requires_grad());
    CHECK(refusal([&] { w.requires_grad_(false); }).kind == TENON_ERROR_RUNTIME);
    // A leaf whose component is another: one of them would get nothing.
    const Tensor data = row({1, 2});
    Tensor both = make_one("Boxed", data).requires_grad_();
    Tensor(data).requires_grad_();
    CHECK(
        has(refusal([&] { Op("mul")(both, 2); }).text, "requires grad as a leaf, and so does one"));
  }

  TEST_CASE("a detached wrapper stays so when a component gets its history later") {
    const Tensor x = row({1, 2}).requires_grad_();
    Tensor changed = row({1, 1}), leaf = row({1, 1});
    const Tensor first = make_one("Boxed", changed).detach(),
                 second = make_one("Boxed", leaf).detach();
    changed.add_(x);
    leaf.requires_grad_();
    CHECK(!first.requires_grad());
    CHECK(!second.requires_grad());
    CHECK(!sum(ensure_tensor(first)).requires_grad());
  }

  TEST_CASE("an override that returns a component itself leaves the caller's tensor as it is") {
    const Tensor leaf = matrix({1, 2, 3, 4}, 2).requires_grad_();
    const Tensor result = relu(make_one("Boxed", leaf));
    CHECK(!result.is_same(leaf));
    CHECK(leaf.is_leaf());
    sum(leaf).backward();
    CHECK(numbers(leaf.grad()) == Numbers{1, 1, 1, 1});
    CHECK(gradient(relu(make_one("Boxed", leaf)), leaf) == Numbers{3, 3, 3, 3});
    const Tensor x = row({1, 2}).requires_grad_(), y = x * 2;
    relu(make_one("Boxed", y));
    sum(y).backward();
    CHECK(numbers(x.grad()) == Numbers{2, 2});
  }

  TEST_CASE("an override of a view may return what shares no memory with a type without data") {
    const Tensor x = matrix({1, 2, 3, 4}, 2).requires_grad_();
    const Tensor y = transpose(make_one("Boxed", x), 0, 1);
    CHECK(numbers(y) == Numbers{1, 3, 2, 4});
    CHECK(gradient(y * matrix({1, 2, 3, 4}, 2), x) == Numbers{1, 3, 2, 4});
    CHECK(numbers(transpose(make_one("Boxed", x.detach()), 0, 1)) == Numbers{1, 3, 2, 4});
  }

  TEST_CASE("a change in place of a component, or through its wrapper, is part of the history") {
    const Tensor x = leaf({1, 2});
    const Tensor inner = x * 1, w = make_one("Boxed", inner);
    CHECK(gradient(w, x) == Numbers{1, 1});
    Op("mul_")(inner, 3);
    CHECK(gradient(w, x) == Numbers{3, 3});
    const Tensor same = Op("mul_")(w, 2).tensor();
    CHECK(same.is_same(w));
    CHECK(gradient(sin(w), x)[0] == doctest::Approx(6 * std::cos(6.0)));
    // Tensors that backward reads must still be there.
    const Tensor y = sin(w);
    Op("mul_")(inner, 2);
    const Refusal refused = refusal([&] { y.backward(row({1, 1})); });
    CHECK(refused.kind == TENON_ERROR_INPLACE);
  }

  TEST_CASE("tangents of components are carried, and refused where no rule takes them") {
    const DualLevel level;
    const Tensor dual = make_dual(row({1, 2}), row({5, 7}));
    const auto tangent = [](const Tensor& of) {
      return numbers(ensure_tensor(unpack_dual(of).tangent));
    };
    for (const char* type : {"Boxed", "Handled"}) {
      CAPTURE(type);
      const Tensor w = make_one(type, dual);
      CHECK(tangent(w) == Numbers{5, 7});
      CHECK(tangent(w * 2) == Numbers{10, 14});
      CHECK(tangent(sin(w))[0] == doctest::Approx(5 * std::cos(1.0)));
      CHECK(!unpack_dual(w.detach()).tangent.defined());
    }
    const Tensor p = make_one("Product", dual, row({2, 2}));
    CHECK(tangent(exp(p))[0] == doctest::Approx(10 * std::exp(2.0)));
    CHECK(refusal([&] { tenon::mul(p, row({1, 1})); }).kind == TENON_ERROR_NOT_IMPLEMENTED);
    const Tensor rows =
        make_one("Rows", tensor({1}), make_dual(matrix({1, 2}, 2), matrix({1, 2}, 2)));
    CHECK(refusal([&] {
            tenon::matmul(rows, matrix({1, 2}, 1));
          }).kind == TENON_ERROR_NOT_IMPLEMENTED);
  }

  TEST_CASE("components that no gradient reaches are refused, not taken for constants") {
    const Tensor scale = leaf({2}), scaled = make_one("Scaled", row({1, 2}), scale);
    const Refusal child = refusal([&] { tenon::exp(scaled); });
    CHECK(child.kind == TENON_ERROR_NOT_IMPLEMENTED);
    CHECK(has(child.text, "override exp[Scaled] (plugin 'wrappers') has a backward"));
    const Tensor quantized = make_one("Quantized", tensor({1, 2}), scale);
    CHECK(quantized.dtype() == i64);
    CHECK(refusal([&] { tenon::abs(quantized); }).kind == TENON_ERROR_NOT_IMPLEMENTED);
    const NoGrad off;
    CHECK(numbers(tenon::abs(quantized)) == Numbers{4});
  }

  TEST_CASE("a child's own conversion that loses the history is refused") {
    const Tensor x = make_one("Shifted", row({1, 2})).requires_grad_();
    const Refusal refused = refusal([&] { sum(x); });
    CHECK(refused.kind == TENON_ERROR_NOT_IMPLEMENTED);
    CHECK(has(refused.text, "to_tensor of Shifted (plugin 'wrappers') gave a tensor without"));
    const NoGrad off;
    CHECK(sum(x).item<double>() == 3);
  }

  TEST_CASE("a type without data gives none") {
    const Tensor boxed = make_one("Boxed", tensor({1.0f, 2.0f}));
    for (const Refusal& refused :
         {refusal([&] { boxed.to_vector<float>(); }), refusal([&] { boxed.to_vector<double>(); }),
          refusal([&] { boxed.data<float>(); }), refusal([&] { contiguous_as(boxed, f64); })}) {
      CHECK(refused.kind == TENON_ERROR_TYPE);
      CHECK(has(refused.text, "Boxed"));
    }
    CHECK(has(refusal([&] { boxed.data<float>(); }).text, "convert it with ensure_tensor"));
  }

  TEST_CASE("the dtype is what the type says, or that to which its components are promoted") {
    CHECK(make_one("Product", row({1}), tensor({1.0f})).dtype() == f64);
    CHECK(make_one("Rows", tensor({1}), tensor({{1.0f}})).dtype() == f32);
    CHECK(make_one("Quantized", tensor({1}, u8), row({1})).dtype() == u8);
  }

  TEST_CASE("two binaries with two layouts of one payload do not read each other's") {
    const Tensor unlike = make_one("Unlike", row({1}));
    const Refusal refused = refusal([&] { as<Unlike>(unlike); });
    CHECK(refused.kind == TENON_ERROR_TYPE);
    CHECK(has(refused.text, "type Unlike has two layouts: in plugin 'wrappers' "));
    CHECK(has(refused.text, "; in the application "));
    CHECK(refusal([&] { is<Unlike>(unlike); }).kind == TENON_ERROR_TYPE);
    CHECK(is<Boxed>(make_one("Boxed", row({1}))));
    CHECK(is<Handled>(make_one("Handled", row({1}))));
  }

  TEST_CASE("a file restores tensors of other types, or refuses to keep them") {
    TemporaryFile file;
    const Tensor labelled = make_one("Labelled", row({1, 2}), {}, "a \"label\"");
    const Tensor nested = tenon::make<Boxed>(make_one("Product", row({1, 2}), row({3, 4})));
    const Tensor child = make_one("Shifted", row({5}));
    const Tensor scaled = make_one("Scaled", row({5, 6}), row({7}));
    state::save_tensors(
        file.path,
        {{"l", labelled}, {"plain", row({9})}, {"n", nested}, {"c", child}, {"s", scaled}});
    std::map<std::string, Tensor> loaded;
    for (const auto& [name, tensor] : state::load_tensors(file.path)) loaded[name] = tensor;
    REQUIRE(loaded.size() == 5);
    CHECK(loaded["l"].text() == "a \"label\": tensor([1., 2.], dtype=f64)");
    CHECK(numbers(as<Labelled>(loaded["l"]).data) == Numbers{1, 2});
    CHECK(type_name(loaded["n"]) == "Boxed");
    CHECK(type_name(as<Boxed>(loaded["n"]).data) == "Product");
    CHECK(numbers(ensure_tensor(as<Boxed>(loaded["n"]).data)) == Numbers{3, 8});
    CHECK(type_name(loaded["c"]) == "Shifted");
    CHECK(type_name(loaded["s"]) == "Scaled");
    CHECK(loaded["s"].to_vector<double>() == Numbers{5, 6});
    CHECK(type_name(loaded["plain"]) == "Tensor");
    const Refusal refused = refusal([&] {
      state::save_tensors(file.path, {{"f", make_one("Forgotten", row({1}), {}, "lost")}});
    });
    CHECK(refused.kind == TENON_ERROR_TYPE);
    CHECK(has(refused.text, "'f' is a Forgotten (plugin 'wrappers'), whose payload has members"));
    CHECK(state::load_tensors(file.path).size() == 5);
  }

  TEST_CASE("attributes of a module's tensors come back, from a file and from memory") {
    TemporaryFile file;
    const auto module_with = [](const char* label, const std::vector<double>& values) {
      Module module = Module::create("ReLU");
      module.register_buffer("kept", make_one("Labelled", row(values), {}, label));
      module.register_buffer("plain", row({9}));
      return module;
    };
    const Module saved = module_with("one", {1, 2}), loaded = module_with("other", {3, 4});
    const Tensor kept = loaded.tensor("kept"), data = as<Labelled>(kept).data;
    state::save(saved, file.path);
    state::load(loaded, file.path);
    CHECK(loaded.tensor("kept").handle() == kept.handle());
    CHECK(kept.text() == "one: tensor([1., 2.], dtype=f64)");
    CHECK(as<Labelled>(kept).data.handle() == data.handle());
    CHECK(saved.tensor("kept").text() == kept.text());
    state::load_state(
        loaded, {{"kept", make_one("Labelled", row({5, 6}), {}, "two")}, {"plain", row({7})}});
    CHECK(kept.text() == "two: tensor([5., 6.], dtype=f64)");

    // A state that does not fit changes nothing.
    state::save(module_with("long", {1, 2, 3}), file.path);
    CHECK(
        has(refusal([&] { state::load(loaded, file.path); }).text, "size mismatch for kept.data"));
    CHECK(kept.text() == "two: tensor([5., 6.], dtype=f64)");
  }

  TEST_CASE("attributes of a component come back, the old ones where a hook refuses") {
    const auto boxed = [](const char* label, double value) {
      return tenon::make<Boxed>(make_one("Labelled", row({value}), {}, label));
    };
    Module module = Module::create("ReLU");
    module.register_buffer("kept", boxed("old", 1));
    const auto label = [&] { return as<Boxed>(module.tensor("kept")).data.text(); };
    state::load_state(module, {{"kept", boxed("new", 2)}});
    CHECK(label() == "new: tensor([2.], dtype=f64)");
    module.register_load_state_dict_post_hook(
        [](const Module&, IncompatibleKeys&) { throw ValueError("too old"); });
    CHECK(has(refusal([&] {
                state::load_state(module, {{"kept", boxed("late", 3)}});
              }).text,
              "too old"));
    CHECK(label() == "new: tensor([2.], dtype=f64)");
  }

  TEST_CASE("the state of a module whose plugin is missing is read as tensors") {
    TemporaryFile file;
    std::string header =
        R"({"__metadata__":{"tensor type of weight":"Gone","attributes of weight":"of it"},)"
        R"("weight.data":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
        R"("bias":{"dtype":"BF16","shape":[1],"data_offsets":[8,10]}})";
    header.resize((header.size() + 7) / 8 * 8, ' ');
    std::string length(8, '\0');
    for (size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(header.size() >> (8 * i) & 0xff);
    const std::string data("\0\0\x80\x3f\0\0\0\x40\x40\x40", 10);
    std::ofstream(file.path, std::ios::binary) << length << header << data;
    std::map<std::string, Tensor> loaded;
    for (const auto& [name, tensor] : state::load_tensors(file.path)) loaded[name] = tensor;
    REQUIRE(loaded.size() == 2);
    CHECK(type_name(loaded["weight.data"]) == "Tensor");
    CHECK(loaded["weight.data"].to_vector<float>() == std::vector<float>{1, 2});
    CHECK(loaded["bias"].dtype() == bf16);
    CHECK(loaded["bias"].to(f32).to_vector<float>() == std::vector<float>{3});
    // Nothing is there to make objects of the type that the model has.
    Module other = Module::create("ReLU");
    other.register_buffer("weight", make_one("Labelled", row({1, 2}), {}, "mine"));
    other.register_buffer("bias", row({0}));
    CHECK(has(refusal([&] { state::load(other, file.path); }).text,
              "type mismatch for weight: it is a Gone in checkpoint, the type in current model is "
              "Labelled."));
    CHECK(other.tensor("weight").text() == "mine: tensor([1., 2.], dtype=f64)");
  }

  TEST_CASE("a plugin with types has an init as well") {
    CHECK(wr("initialized")().scalar().to<int64_t>() == 1);
  }

  TEST_CASE("gradients of components are those of the same computation on plain tensors") {
    std::mt19937 random(20240607);
    const auto pick = [&](int count) {
      return static_cast<int>(random() % static_cast<unsigned>(count));
    };
    for (int round = 0; round < 200; ++round) {
      CAPTURE(round);
      const auto data = [&] {
        std::vector<double> values(6);
        for (double& value : values) value = 0.2 + pick(16) / 10.0;
        return matrix(values, 3);
      };
      std::vector<Tensor> leaves;
      const auto make_leaf = [&] {
        Tensor tensor = data();
        if (leaves.empty() || pick(3) > 0) tensor.requires_grad_();
        leaves.push_back(tensor);
        return pick(2) == 0 ? tensor : tensor * 1.5;
      };
      // Each a value as some type has it, and as a plain tensor.
      std::vector<std::pair<Tensor, Tensor>> values;
      const auto add_value = [&](int depth, auto&& self) -> std::pair<Tensor, Tensor> {
        const int kind = pick(4);
        if (kind == 0 && depth > 0) {
          const Tensor plain = make_leaf();
          return {plain, plain};
        }
        if (kind == 1) {
          const Tensor u = make_leaf(), v = make_leaf();
          return {make_one("Product", u, v), u * v};
        }
        const char* type = kind == 2 ? "Boxed" : "Handled";
        if (depth < 2 && kind == 2 && pick(3) == 0) {
          const auto [inner, plain] = self(depth + 1, self);
          if (type_name(inner) == "Boxed" || type_name(inner) == "Tensor") {
            const Tensor flat = ensure_tensor(inner);
            return {make_one(type, flat), plain};
          }
          return {inner, plain};
        }
        const Tensor plain = make_leaf();
        return {make_one(type, plain), plain};
      };
      for (int i = 0; i < 2; ++i) values.push_back(add_value(0, add_value));
      // One family in a program, so that no two types meet which know nothing of each other.
      const std::string family = type_name(values[0].first);
      for (auto& [typed, plain] : values) {
        if (type_name(typed) != family) typed = ensure_tensor(typed);
      }
      for (int step = 0; step < 4; ++step) {
        const auto& [a, plain_a] =
            values[static_cast<size_t>(pick(static_cast<int>(values.size())))];
        const auto& [b, plain_b] =
            values[static_cast<size_t>(pick(static_cast<int>(values.size())))];
        switch (pick(5)) {
          case 0:
            values.emplace_back(tenon::mul(a, b), tenon::mul(plain_a, plain_b));
            break;
          case 1:
            values.emplace_back(tenon::add(a, b), tenon::add(plain_a, plain_b));
            break;
          case 2:
            values.emplace_back(tenon::sin(a), tenon::sin(plain_a));
            break;
          case 3: {
            const Tensor c = row({0.5, -1, 2});
            values.emplace_back(tenon::mul(a, c), tenon::mul(plain_a, c));
            break;
          }
          default: {
            const std::vector<Tensor> typed{a, b}, plain{plain_a, plain_b};
            const Tensor joined = cat(typed, 0), joined_plain = cat(plain, 0);
            const Tensor rows = tensor({0, 3});
            values.emplace_back(index_select(joined, 0, rows), index_select(joined_plain, 0, rows));
          }
        }
      }
      Tensor total = scalar(0), expected = scalar(0);
      for (const auto& [typed, plain] : values) {
        total = total + sum(ensure_tensor(typed));
        expected = expected + sum(plain);
      }
      REQUIRE(total.item<double>() == doctest::Approx(expected.item<double>()));
      for (const Tensor& leaf : leaves) {
        if (!leaf.requires_grad()) continue;
        GradientOptions options;
        options.retain_graph = true;
        options.allow_unused = true;
        const Tensor got = gradients({total}, {leaf}, options)[0];
        const Tensor correct = gradients({expected}, {leaf}, options)[0];
        REQUIRE(got.defined() == correct.defined());
        if (!correct.defined()) continue;
        const Numbers a = numbers(ensure_tensor(got)), b = numbers(correct);
        for (size_t i = 0; i < a.size(); ++i) REQUIRE(a[i] == doctest::Approx(b[i]));
      }
    }
  }
}
