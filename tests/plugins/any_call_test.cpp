// Every op of the shipped plugins, called with arguments drawn at random: shapes, layouts, dtypes
// and numbers, extreme ones included. No other implementation is needed to know what is expected:
// - a strided operand gives what its contiguous copy gives;
// - a narrow integer gives what i64 gives, modulo its width, and numbers beyond it are refused;
// - f32 gives what f64 gives, as far as f32 reaches;
// - out= and in-place forms give what the op gives;
// - jvp and backward are transposes of each other, and jvp is what differences say;
// - what is refused, is refused at once and by a typed error.
// TENON_TEST_ROUNDS=100 runs that many times as long, TENON_TEST_SEED=7 draws other calls,
// TENON_TEST_TRACE=1 prints each call before it is made.
#include <algorithm>
#include <cstdlib>
#include <limits>
#include <random>

#include "compare.hpp"
#include "declared_ops.hpp"

using compare::refusal;
using tenon::Argument;
using tenon::f32;
using tenon::f64;
using tenon::i64;
using tenon::Json;
using tenon::Scalar;
using tenon::Tensor;
using namespace declared;

namespace {

int64_t setting(const char* name, int64_t fallback) {
  const char* text = std::getenv(name);
  return text == nullptr ? fallback : std::atoll(text);
}

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  int64_t below(int64_t count) {
    return static_cast<int64_t>(engine_() % static_cast<uint64_t>(count));
  }
  bool chance(double p) { return std::uniform_real_distribution<double>(0, 1)(engine_) < p; }
  // A number of f32, so that it is the same in every floating dtype.
  double real() {
    return static_cast<float>(std::uniform_real_distribution<double>(-2, 2)(engine_));
  }
  template <class T>
  T of(std::initializer_list<T> list) {
    return list.begin()[below(static_cast<int64_t>(list.size()))];
  }

 private:
  std::mt19937_64 engine_;
};

struct Style {
  std::vector<tenon::DType> dtypes;  // dtypes of tensors, one for a call unless `mixed`
  bool extremes = false;             // sizes and numbers at the ends of their ranges
  bool mixed = false;
  bool scaled = false;  // some calls with very large or very small elements
};

class Drawer {
 public:
  Drawer(uint64_t seed, Style style) : random(seed), style_(std::move(style)) {}

  Call draw(const Declared& op) {
    const bool all_two = random.chance(0.7);
    rank_ = random.below(5);
    base_.clear();
    for (int64_t i = 0; i < rank_; ++i) base_.push_back(all_two ? 2 : random.below(4));
    dtype_ =
        style_
            .dtypes[static_cast<size_t>(random.below(static_cast<int64_t>(style_.dtypes.size())))];
    scale_ = !style_.scaled || random.chance(0.7) ? 1 : random.of({1e20, 1e-24});
    Call call;
    // Half of the calls leave what follows to the defaults.
    const bool defaults = random.chance(0.5);
    for (size_t i = 0; i < op.operands; ++i) {
      const Parameter& parameter = op.parameters[i];
      const bool may_end = parameter.has_default || parameter.optional;
      if (defaults && may_end && random.chance(0.5)) break;
      call.push_back(draw(parameter));
    }
    return call;
  }
  Random random;

 private:
  Held draw(const Parameter& parameter) {
    Held held;
    const std::string& type = parameter.type;
    if ((parameter.optional || parameter.has_default) && random.chance(0.4) &&
        (parameter.optional || type.find("Tensor") != std::string::npos)) {
      return held;
    }
    if (type == "Tensor" || (type == "Tensor|Scalar" && random.chance(0.7))) {
      held.kind = Held::one_tensor;
      held.tensor = tensor(parameter);
    } else if (type == "Tensor[]") {
      held.kind = Held::tensor_list;
      for (int64_t i = random.below(4); i >= 0; --i) held.tensors.push_back(tensor(parameter));
    } else if (type == "Scalar" || type == "Tensor|Scalar" || type == "float") {
      held.kind = Held::scalar;
      held.number = number(type == "float");
    } else if (type == "int") {
      held.kind = Held::scalar;
      held.number = integer();
    } else if (type == "bool") {
      held.kind = Held::scalar;
      held.number = random.chance(0.5);
    } else if (type == "dtype") {
      held.kind = Held::dtype;
      held.type =
          random.of({tenon::boolean, tenon::u8, tenon::i8, tenon::i16, tenon::i32, i64, f32, f64});
    } else if (type == "str") {
      held.kind = Held::string;
      held.text = random.of({"mean", "sum", "none", "tanh"});
    } else if (type.compare(0, 4, "int[") == 0) {
      held.kind = Held::integers;
      const int64_t length = type == "int[]" ? random.below(4) : std::atoll(type.c_str() + 4);
      if (type == "int[]" && random.chance(0.5))
        held.list = base_;
      else
        for (int64_t i = 0; i < length; ++i) held.list.push_back(integer());
    } else {
      held.kind = Held::none;
    }
    return held;
  }
  int64_t integer() {
    if (style_.extremes && random.chance(0.3)) {
      return random.of({INT64_MAX, INT64_MIN, int64_t{1} << 62, -(int64_t{1} << 62),
                        int64_t{1} << 61, (int64_t{1} << 53) + 1, INT64_MAX - 1});
    }
    return random.chance(0.8) ? random.below(3) : random.below(7) - 3;
  }
  Scalar number(bool floating) {
    if (style_.extremes && random.chance(0.5)) {
      if (floating || random.chance(0.5)) {
        return random.of({1e300, -1e300, 1e19, 0.5, -0.5, std::nan(""),
                          std::numeric_limits<double>::infinity(),
                          -std::numeric_limits<double>::infinity()});
      }
      return random.of({int64_t{300}, int64_t{-200}, int64_t{70000}, INT64_MAX, INT64_MIN});
    }
    if (floating || random.chance(0.3)) return random.real();
    return random.below(6) - 2;
  }
  Tensor tensor(const Parameter& parameter) {
    std::vector<int64_t> shape = base_;
    const double choice = std::uniform_real_distribution<double>(0, 1)(generator_);
    if (choice < 0.1) {
      shape.clear();
    } else if (choice < 0.2 && !shape.empty()) {
      shape[static_cast<size_t>(random.below(rank_))] = 1;
    } else if (choice < 0.3 && !shape.empty()) {
      shape.erase(shape.begin());
    } else if (choice < 0.35) {
      shape.push_back(2);
    }
    tenon::DType dtype = dtype_;
    if (style_.mixed) {
      dtype = style_.dtypes[static_cast<size_t>(
          random.below(static_cast<int64_t>(style_.dtypes.size())))];
    }
    const std::string& name = parameter.name;
    if (name == "index" || name == "indices" || (name == "target" && random.chance(0.6))) {
      dtype = i64;
      if (random.chance(0.5)) shape.assign(1, random.below(3));
    } else if (name == "mask" || name == "condition") {
      dtype = tenon::boolean;
    }
    Tensor result = tenon::empty_tensor(
        tenon::IntList(shape.data(), static_cast<int64_t>(shape.size())), dtype);
    const bool ends = style_.extremes && random.chance(0.3);
    const int64_t count = tenon::detail::number_count(result);
    tenon::visit(tenon::real_dtype(dtype), [&](auto zero) {
      using T = decltype(zero);
      T* to = static_cast<T*>(result.view_record().data);
      for (int64_t i = 0; i < count; ++i) {
        if constexpr (std::is_same_v<T, bool>) {
          to[i] = random.chance(0.5);
        } else if constexpr (std::is_integral_v<T>) {
          to[i] = ends ? random.of({std::numeric_limits<T>::max(), std::numeric_limits<T>::min()})
                       : static_cast<T>(random.below(3));
        } else {
          to[i] = ends ? random.of({std::numeric_limits<T>::infinity(),
                                    std::numeric_limits<T>::quiet_NaN(),
                                    std::numeric_limits<T>::max(), T{0}})
                       : static_cast<T>(random.real() * scale_);
        }
      }
    });
    return result;
  }
  Style style_;
  std::mt19937_64 generator_{7};
  std::vector<int64_t> base_;
  int64_t rank_ = 0;
  tenon::DType dtype_ = f32;
  double scale_ = 1;
};

template <class Change>
Call changed(const Call& call, const Change& change) {
  Call result = call;
  for (Held& held : result) {
    if (held.kind == Held::one_tensor) held.tensor = change(held.tensor);
    for (Tensor& tensor : held.tensors) tensor = change(tensor);
  }
  return result;
}
Call cloned(const Call& call) {
  return changed(call, [](const Tensor& tensor) { return tensor.clone(); });
}
// The elements in every second place of memory, dimensions in the reverse order.
Tensor strided(const Tensor& tensor) {
  if (tensor.dim() == 0) return tensor.clone();
  std::vector<int64_t> order;
  for (int64_t i = tensor.dim() - 1; i >= 0; --i) order.push_back(i);
  const Tensor turned = tensor.permute(order).contiguous();
  const Tensor wide = tenon::stack({turned, turned}, -1);
  return wide.select(-1, 0).permute(order);
}
bool readable(const Tensor& tensor) { return tensor.numel() <= 1 << 16; }

void check_same(const Tensor& found, const Tensor& expected, double tolerance) {
  REQUIRE(found.sizes() == expected.sizes());
  CHECK(found.dtype() == expected.dtype());
  if (!readable(found)) return;
  const auto a = tenon::detail::numbers_of(found), b = tenon::detail::numbers_of(expected);
  for (size_t i = 0; i < a.size(); ++i) {
    const bool same = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])) ||
                      std::abs(a[i] - b[i]) <= tolerance * std::max(std::abs(a[i]), std::abs(b[i]));
    CAPTURE(i);
    CHECK_MESSAGE(same, a[i], " is not ", b[i]);
    if (!same) return;
  }
}

// Elements that are whatever the memory held, or numbers of the generator.
bool arbitrary(const Declared& op) { return op.name == "empty"; }
// Ops whose results depend on strides, or that refuse some.
bool about_layout(const Declared& op) {
  return op.name == "as_strided" || op.name == "as_strided_scatter" || op.name == "view" ||
         op.name == "view_as_complex";
}
bool exists(const std::string& name) {
  static const std::set<std::string> names = [] {
    std::set<std::string> all;
    for (const Declared& op : declared_ops()) all.insert(op.name);
    return all;
  }();
  return names.count(name) != 0;
}
bool changes_operand(const Declared& op) {
  for (size_t i = 0; i < op.operands; ++i) {
    if (op.parameters[i].mutated) return true;
  }
  return false;
}

// Calls of every op in one style, each followed by what `inspect` has to say about it.
template <class Inspect>
void each_call(const Style& style, int64_t calls, const Inspect& inspect) {
  const int64_t rounds = setting("TENON_TEST_ROUNDS", 1);
  const auto seed = static_cast<uint64_t>(setting("TENON_TEST_SEED", 1));
  int64_t answered = 0;
  for (const Declared& op : declared_ops()) {
    Drawer drawer(seed * 1000003 + std::hash<std::string>()(op.name), style);
    for (int64_t i = 0; i < calls * rounds; ++i) {
      const Call call = drawer.draw(op);
      const std::string text = text_of(op, call);
      if (setting("TENON_TEST_TRACE", 0) != 0) std::fprintf(stderr, "%s\n", text.c_str());
      INFO(text);
      tenon::seed_generator(5);
      const Outcome outcome = run(op, cloned(call));
      answered += outcome.refused.empty() ? 1 : 0;
      if (setting("TENON_TEST_TRACE", 0) != 0) {
        std::fprintf(stderr, "  %s\n",
                     outcome.refused.empty() ? "answered" : outcome.refused.c_str());
      }
      inspect(op, call, outcome);
    }
  }
  CHECK(answered > 0);
}

}  // namespace

TEST_SUITE("plugins/any_call") {
  const std::vector<tenon::DType> kIntegers{tenon::boolean, tenon::u8, tenon::i8, tenon::i16,
                                            tenon::i32};

  TEST_CASE("strided operands, out= and in-place forms give what the plain call gives") {
    const Style style{{f32, f64, tenon::boolean, tenon::u8, tenon::i32, i64}};
    each_call(style, 30, [](const Declared& op, const Call& call, const Outcome& expected) {
      if (arbitrary(op)) return;
      if (!about_layout(op)) {
        tenon::seed_generator(5);
        const Outcome found = run(op, changed(call, strided));
        INFO("strided: ", found.refused, " contiguous: ", expected.refused);
        REQUIRE(found.refused.empty() == expected.refused.empty());
        for (size_t i = 0; i < found.tensors.size(); ++i)
          check_same(found.tensors[i], expected.tensors[i], 1e-4);
      }
      if (!expected.refused.empty()) return;
      if (op.operands < op.parameters.size() && call.size() == op.operands) {
        std::vector<Tensor> out;
        for (const Tensor& result : expected.tensors)
          out.push_back(tenon::empty_tensor(result.shape(), result.dtype()));
        const bool listed = op.parameters.back().type == "Tensor[]";
        const Outcome found = run(op, cloned(call), listed ? Argument(out) : Argument(out[0]));
        INFO("out=: ", found.refused);
        REQUIRE(found.refused.empty());
        for (size_t i = 0; i < out.size(); ++i) {
          CHECK(found.tensors[i].is_same(out[i]));
          check_same(out[i], expected.tensors[i], 0);
        }
      }
      Declared twin = op;
      if (twin.name.back() == '_') twin.name.pop_back();
      if (twin.name != op.name && exists(twin.name)) {
        const Outcome plain = run(twin, cloned(call));
        INFO("functional: ", plain.refused);
        REQUIRE(plain.refused.empty());
        check_same(expected.tensors[0], plain.tensors[0].to(expected.tensors[0].dtype()), 0);
      }
    });
  }

  TEST_CASE("a refusal begins with the name of the op that was called") {
    const Style style{{f32, f64, tenon::boolean, tenon::u8, tenon::i32, i64}, true, true};
    each_call(style, 100, [](const Declared& op, const Call& call, const Outcome& found) {
      const std::string named = op.name.substr(op.name.rfind('.') + 1) + "(";
      const auto check = [&](const Outcome& outcome) {
        CHECK_MESSAGE(outcome.refused.compare(0, outcome.refused.empty() ? 0 : named.size(),
                                              outcome.refused.empty() ? "" : named) == 0,
                      outcome.refused);
      };
      check(found);
      if (op.operands == op.parameters.size() || call.size() != op.operands) return;
      const auto check_out = [&](const Tensor& out) {
        const bool listed = op.parameters.back().type == "Tensor[]";
        check(
            run(op, cloned(call), listed ? Argument(std::vector<Tensor>(2, out)) : Argument(out)));
      };
      for (const tenon::DType dtype : {tenon::boolean, tenon::i8, f32})
        check_out(tenon::empty_tensor({2, 1}, dtype).expand({2, 3}));
      check_out(tenon::empty_tensor({5}, f64).requires_grad_());
    });
  }

  TEST_CASE("narrow integers give what i64 gives, and refuse numbers that they cannot hold") {
    Style style{kIntegers};
    for (const bool extremes : {false, true}) {
      style.extremes = extremes;
      each_call(style, 30, [](const Declared& op, const Call& call, const Outcome& found) {
        if (arbitrary(op) || !found.refused.empty() || changes_operand(op)) return;
        bool boolean = false, fits = true;
        tenon::DType narrow = tenon::DType::none;
        changed(call, [&](const Tensor& tensor) {
          boolean |= tensor.dtype() == tenon::boolean;
          narrow = tensor.dtype() == i64 ? narrow : tensor.dtype();
          return tensor;
        });
        if (boolean || narrow == tenon::DType::none) return;  // has its own logic
        // The absolute or squared value of a difference that has wrapped.
        if (op.name == "nn.functional.l1_loss" || op.name == "nn.functional.mse_loss") return;
        tenon::seed_generator(5);
        // Dimensions and counts are not operands: they need not fit.
        for (size_t i = 0; i < call.size(); ++i) {
          if (call[i].kind != Held::scalar || op.parameters[i].type == "int") continue;
          fits &= call[i].number.fits(narrow);
        }
        const Outcome wide =
            run(op, changed(call, [](const Tensor& tensor) { return tensor.to(i64); }));
        INFO("i64: ", wide.refused);
        if (!wide.refused.empty()) return;  // the index of one op, the source of another
        for (size_t i = 0; i < found.tensors.size(); ++i) {
          const Tensor& result = found.tensors[i];
          if (!readable(result)) continue;
          const Tensor& expected = wide.tensors[i];
          REQUIRE(result.sizes() == expected.sizes());
          if (tenon::is_floating(result.dtype()) || tenon::is_floating(expected.dtype())) {
            check_same(result.to(f64), expected.to(f64), 1e-5);
          } else {
            // Sums wrap; numbers do not.
            const bool wraps = fits || result.dtype() == tenon::boolean;
            check_same(result.to(i64),
                       wraps ? expected.to(result.dtype()).to(i64) : expected.to(i64), 0);
          }
        }
      });
    }
  }

  TEST_CASE("f32 gives what f64 gives, as far as it reaches") {
    const Style style{{f32}, false, false, true};
    each_call(style, 30, [](const Declared& op, const Call& call, const Outcome& found) {
      if (arbitrary(op) || !found.refused.empty()) return;
      // Its eps is the dtype's unless given.
      const bool has_eps = call.size() == op.operands && call.back().kind == Held::scalar;
      if (op.name == "nn.functional.rms_norm" && !has_eps) return;
      // Its scores are out of reach where its result is not.
      if (op.name == "nn.functional.scaled_dot_product_attention" ||
          op.name == "nn.functional.flash_attention")
        return;
      const auto widen = [](const Tensor& tensor) {
        return tenon::is_floating(tensor.dtype()) ? tensor.to(f64) : tensor.clone();
      };
      tenon::seed_generator(5);
      const Outcome wide = run(op, changed(call, widen));
      INFO("f64: ", wide.refused);
      REQUIRE(wide.refused.empty());
      for (size_t i = 0; i < found.tensors.size(); ++i) {
        if (!tenon::is_floating(found.tensors[i].dtype()) || !readable(found.tensors[i])) continue;
        REQUIRE(found.tensors[i].sizes() == wide.tensors[i].sizes());
        const auto a = found.tensors[i].to_vector<double>(),
                   b = wide.tensors[i].to_vector<double>();
        double most = 0;
        for (const double number : b)
          most = std::max(most, std::isfinite(number) ? std::abs(number) : 0);
        for (size_t k = 0; k < a.size(); ++k) {
          const bool reached = std::isfinite(b[k]) && std::abs(b[k]) < 1e37 && most > 1e-30;
          // If other sums are out of reach, the terms of this one may be.
          const bool overflows = !std::isfinite(a[k]) && most >= 1e37;
          const bool close = !reached || overflows || std::abs(a[k] - b[k]) <= 2e-3 * most;
          CHECK_MESSAGE(close, a[k], " in f32 is ", b[k], " in f64");
          if (!close) break;
        }
      }
    });
  }

  TEST_CASE("f16 and bf16 give what f32 gives, in one rounding where an op is one kernel") {
    const Style style{{f32}};
    for (const tenon::DType half : {tenon::f16, tenon::bf16}) {
      each_call(style, 15, [half](const Declared& op, const Call& call, const Outcome&) {
        if (arbitrary(op) || op.name == "uniform_") return;  // its end is the dtype's
        if (op.name == "view_as_complex") return;            // there is no complex f16
        const auto narrow = [half](const Tensor& tensor) {
          return tenon::is_floating(tensor.dtype()) ? tensor.to(half) : tensor.clone();
        };
        bool asked = false, floating = false;
        for (const Held& held : call) asked |= held.kind == Held::dtype;
        tenon::seed_generator(5);
        const Outcome wide = run(
            op, changed(call, [&](const Tensor& tensor) {
              floating |= tenon::is_floating(tensor.dtype());
              return tenon::is_floating(tensor.dtype()) ? narrow(tensor).to(f32) : tensor.clone();
            }));
        tenon::seed_generator(5);
        const Outcome found = run(op, changed(call, narrow));
        INFO("half: ", found.refused, " f32: ", wide.refused);
        REQUIRE(found.refused.empty() == wide.refused.empty());
        for (size_t i = 0; i < found.tensors.size(); ++i) {
          const Tensor& expected = wide.tensors[i];
          REQUIRE(found.tensors[i].sizes() == expected.sizes());
          const bool narrows = floating && !asked && expected.dtype() == f32;
          CHECK(found.tensors[i].dtype() == (narrows ? half : expected.dtype()));
          // nextafter steps in the numbers of the dtype.
          if (!op.composite && op.name != "nextafter")
            check_same(found.tensors[i], narrows ? expected.to(half) : expected, 0);
        }
      });
    }
  }

  TEST_CASE("complex operands are answered, strided ones alike, or refused by the op's name") {
    Style style{{tenon::c64, tenon::c128}};
    for (const bool mixed : {false, true}) {
      style.mixed = mixed;
      if (mixed) style.dtypes = {tenon::c64, tenon::c128, f32, f64, i64, tenon::boolean};
      each_call(style, 15, [](const Declared& op, const Call& call, const Outcome& expected) {
        const std::string named = op.name.substr(op.name.rfind('.') + 1) + "(";
        if (!expected.refused.empty()) {
          CHECK_MESSAGE(expected.refused.compare(0, named.size(), named) == 0, expected.refused);
          return;
        }
        if (arbitrary(op) || about_layout(op)) return;
        tenon::seed_generator(5);
        const Outcome found = run(op, changed(call, strided));
        INFO("strided: ", found.refused);
        REQUIRE(found.refused.empty());
        for (size_t i = 0; i < found.tensors.size(); ++i)
          check_same(found.tensors[i], expected.tensors[i], 1e-4);
      });
    }
  }

  TEST_CASE("in-place forms have the gradients of their ops") {
    int64_t compared = 0;
    each_call({{f64}}, 30, [&](const Declared& op, const Call& call, const Outcome& plain) {
      Declared twin = op;
      twin.name.pop_back();
      if (op.name.back() != '_' || !exists(twin.name) || !plain.refused.empty()) return;
      const auto gradients_of = [&](const Declared& called) {
        std::vector<Tensor> leaves;
        const Call tracked = changed(call, [&](const Tensor& tensor) {
          if (!tenon::is_floating(tensor.dtype())) return tensor;
          leaves.push_back(tensor.clone().requires_grad_());
          return leaves.back() * 1;
        });
        const Outcome found = run(called, tracked);
        std::vector<Tensor> gradients;
        if (!found.refused.empty()) return gradients;  // it has none
        const Tensor& result = found.tensors[0];
        if (!result.requires_grad()) return std::vector<Tensor>(leaves.size());
        tenon::GradientOptions options;
        options.allow_unused = true;
        options.seeds = {compare::numbers(result.sizes(), result.dtype(), 3)};
        const std::string no_gradient =
            refusal([&] { gradients = tenon::gradients({result}, leaves, options); });
        if (gradients.empty())
          CHECK_MESSAGE(no_gradient.find("no derivative") != std::string::npos, no_gradient);
        return gradients;
      };
      const std::vector<Tensor> found = gradients_of(op), expected = gradients_of(twin);
      REQUIRE(found.size() == expected.size());
      for (size_t i = 0; i < found.size(); ++i) {
        const auto or_zero = [&](const Tensor& gradient, const Tensor& other) {
          return gradient.defined() || !other.defined() ? gradient : tenon::zeros_like(other);
        };
        const Tensor a = or_zero(found[i], expected[i]), b = or_zero(expected[i], found[i]);
        if (!a.defined()) continue;
        ++compared;
        check_same(a, b, 1e-12);
      }
    });
    CHECK(compared > 1000);
  }

  TEST_CASE("extreme sizes and numbers are answered or refused, at once") {
    const Style style{
        {f32, f64, tenon::boolean, tenon::u8, tenon::i8, tenon::i16, tenon::i32, i64}, true, true};
    each_call(style, 100, [](const Declared&, const Call&, const Outcome&) {});
  }

  TEST_CASE("jvp and backward are transposes, of mixed dtypes too; jvp is what differences say") {
    for (const bool mixed : {false, true}) {
      Style style{{f64}, false, mixed};
      if (mixed) style.dtypes = {f64, f64, f32, i64, tenon::u8};
      each_call(style, 30, [&](const Declared& op, const Call& call, const Outcome& plain) {
        if (arbitrary(op) || !plain.refused.empty() || !op.recorded) return;
        // Ops that values cannot distinguish from a constant: places of memory, gradients of
        // gradients.
        if (op.name == "as_strided" || op.name == "as_strided_scatter") return;
        if (changes_operand(op)) return;
        // Complex results are checked in math/complex_test.cpp.
        if (!plain.tensors.empty() && tenon::is_complex(plain.tensors[0].dtype())) return;
        // padding_idx is about gradients alone: its row has none, and a tangent like any other.
        if (op.name.find("embedding") != std::string::npos && call.size() > 2) return;
        // A hard sample is a step, and has the gradient of the soft one.
        if (op.name == "nn.functional.gumbel_softmax") return;
        std::vector<Tensor> inputs, directions;
        bool all_f64 = true;
        const Call leaves = changed(call, [&](const Tensor& tensor) {
          if (!tenon::is_floating(tensor.dtype())) return tensor;
          all_f64 &= tensor.dtype() == f64;
          Tensor leaf = tensor.clone();
          leaf.requires_grad_();
          inputs.push_back(leaf);
          directions.push_back(compare::numbers(leaf.sizes(), leaf.dtype(), 3 + inputs.size()));
          return leaf;
        });
        if (inputs.empty()) return;
        tenon::seed_generator(5);
        const Outcome recorded = run(op, leaves);
        REQUIRE(recorded.refused.empty());
        std::vector<Tensor> roots, seeds;
        for (const Tensor& result : recorded.tensors) {
          if (!result.requires_grad()) continue;
          roots.push_back(result);
          all_f64 &= result.dtype() == f64;
          seeds.push_back(compare::numbers(result.sizes(), result.dtype(), 11 + roots.size()));
        }
        if (roots.empty()) return;
        const auto inner = [](const Tensor& a, const Tensor& b) {
          return (a.to(f64) * b.to(f64)).sum().item<double>();
        };
        double by_backward = 0, size = 1;
        tenon::GradientOptions options;
        options.allow_unused = true;
        options.seeds = seeds;
        std::vector<Tensor> gradients;
        const std::string no_gradient =
            refusal([&] { gradients = tenon::gradients(roots, inputs, options); });
        if (gradients.empty()) {
          CHECK_MESSAGE(no_gradient.find("no derivative") != std::string::npos, no_gradient);
          return;
        }
        for (size_t i = 0; i < inputs.size(); ++i) {
          if (!gradients[i].defined()) continue;
          CHECK(gradients[i].dtype() == inputs[i].dtype());
          by_backward += inner(gradients[i], directions[i]);
          size += inner(gradients[i].abs(), directions[i].abs());
        }
        double by_jvp = 0;
        {
          const tenon::DualLevel level;
          size_t at = 0;
          const Call duals = changed(call, [&](const Tensor& tensor) {
            if (!tenon::is_floating(tensor.dtype())) return tensor;
            const Tensor direction = directions[at++];
            return make_dual(tensor, direction);
          });
          tenon::seed_generator(5);
          const Outcome dual = run(op, duals);
          INFO("dual: ", dual.refused);
          REQUIRE(dual.refused.empty());
          size_t root = 0;
          for (size_t i = 0; i < dual.tensors.size(); ++i) {
            if (!recorded.tensors[i].requires_grad()) continue;
            const Tensor tangent = unpack_dual(dual.tensors[i]).tangent;
            if (tangent.defined()) {
              CHECK(tangent.dtype() == dual.tensors[i].dtype());
              by_jvp += inner(tangent, seeds[root]);
            }
            ++root;
          }
        }
        const double tolerance = all_f64 ? 1e-8 : 1e-4;
        if (!std::isfinite(by_backward) || !std::isfinite(by_jvp) || !std::isfinite(size)) return;
        CHECK_MESSAGE(std::abs(by_backward - by_jvp) <= tolerance * size, by_backward,
                      " by backward, ", by_jvp, " by jvp");
        // Rules of layer_norm take mean and rstd for functions of input, which drawn ones are not.
        if (!all_f64 || op.name == "nn.grad.layer_norm") return;
        // Differences: where two steps disagree the function is not smooth, and nothing is said.
        const auto along = [&](double step) {
          double sum = 0;
          for (const double sign : {1.0, -1.0}) {
            size_t at = 0;
            const Call moved = changed(call, [&](const Tensor& tensor) {
              if (!tenon::is_floating(tensor.dtype())) return tensor;
              return tensor + directions[at++] * (sign * step);
            });
            tenon::seed_generator(5);
            const Outcome outcome = run(op, moved);
            if (!outcome.refused.empty()) return std::nan("");
            size_t root = 0;
            for (size_t i = 0; i < outcome.tensors.size(); ++i) {
              if (!recorded.tensors[i].requires_grad()) continue;
              sum += sign * inner(outcome.tensors[i], seeds[root++]);
            }
          }
          return sum / (2 * step);
        };
        const double near = along(1e-6), far = along(2e-6);
        const double scale = 1 + std::abs(near) + size;
        if (!std::isfinite(near) || std::abs(near - far) > 1e-5 * scale) return;
        CHECK_MESSAGE(std::abs(near - by_jvp) <= 1e-4 * scale, near, " by differences, ", by_jvp,
                      " by jvp");
      });
    }
  }
}
