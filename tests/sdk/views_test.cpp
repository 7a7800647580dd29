// Views and changes in place, in and out of grad mode: what is accepted has the gradient of the
// same program out of place.
#include <memory>
#include <random>

#include "tests/sdk/functions.hpp"

namespace {

using namespace functions;

// The error of the change; the data is as it was.
std::string refused_change(const Tensor& data, const std::function<void()>& change) {
  const Numbers before = numbers(data);
  const Refusal refused = refusal(change);
  CHECK(refused.kind == TENON_ERROR_INPLACE);
  CHECK(numbers(data) == before);
  return refused.text;
}

template <class Mode>
Tensor first_two(const Tensor& y) {
  const Mode mode;
  return y.slice(0, 0, 2);
}

constexpr auto kNoGradText =
    "A view was created in no_grad mode and is being modified inplace with grad mode enabled";

// ---- the same program out of place ----

// A tensor with its own history: the values of some elements of a storage.
struct History {
  size_t storage;
  std::vector<int64_t> cover;  // its elements, by their place in the storage
  Tensor value;
};
struct Alias {
  Tensor real;
  std::shared_ptr<History> history;
  std::vector<int64_t> at;  // its elements, by their place in `cover`
  bool constant;            // made where nothing is recorded
};

Tensor selection(const std::vector<int64_t>& at, size_t of) {
  std::vector<double> ones(at.size() * of, 0);
  for (size_t i = 0; i < at.size(); ++i) ones[i * of + static_cast<size_t>(at[i])] = 1;
  return row(ones).view({static_cast<int64_t>(at.size()), static_cast<int64_t>(of)});
}
Tensor take(const Tensor& values, const std::vector<int64_t>& at) {
  const Tensor column = values.view({values.shape()[0], 1});
  return mm(selection(at, static_cast<size_t>(values.shape()[0])), column).view({-1});
}
Tensor put(const Tensor& values, const std::vector<int64_t>& at, const Tensor& part) {
  const Tensor select = selection(at, static_cast<size_t>(values.shape()[0]));
  const Tensor kept = values * (ones_like(values) - sum(select, {0}));
  return kept + mm(select.t(), part.view({part.shape()[0], 1})).view({-1});
}

class Program {
 public:
  explicit Program(unsigned seed) : random_(seed) {
    add(x_ * 1, 0, x_ * 1);
    add(row({1, 2, 3, 4}), 1, row({1, 2, 3, 4}));
    add(leaf_, 2, leaf_ * 1);
  }

  // False when the runtime refused; otherwise values and gradients were compared.
  bool run() {
    const int steps = pick(2, 7);
    for (int i = 0; i < steps; ++i) {
      if (refusal([&] { step(); }).kind != TENON_OK) return false;
    }
    for (int i = 0; i < 3; ++i) {
      if (refusal([&] { read(any()); }).kind != TENON_OK) return false;
    }
    std::vector<Numbers> got;
    if (refusal([&] { got = gradients_of(real_loss_); }).kind != TENON_OK) return false;
    for (const Alias& alias : aliases_) compare(numbers(alias.real), numbers(value(alias)));
    const std::vector<Numbers> expected = gradients_of(expected_loss_);
    for (size_t i = 0; i < got.size(); ++i) compare(got[i], expected[i]);
    return true;
  }

  std::string text;
  bool right = true;

 private:
  void compare(const Numbers& got, const Numbers& expected) {
    for (size_t k = 0; k < got.size(); ++k) right &= got[k] == doctest::Approx(expected[k]);
  }
  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  Alias any() {
    const int chosen = pick(0, static_cast<int>(aliases_.size()) - 1);
    text += " #" + std::to_string(chosen);
    return aliases_[static_cast<size_t>(chosen)];
  }
  void add(const Tensor& real, size_t storage, const Tensor& expected) {
    auto history = std::make_shared<History>(History{storage, {0, 1, 2, 3}, expected});
    histories_.push_back(history);
    aliases_.push_back({real, history, {0, 1, 2, 3}, false});
  }
  static Tensor value(const Alias& alias) {
    const Tensor part = take(alias.history->value, alias.at);
    return alias.constant ? part.detach() : part;
  }
  std::vector<Numbers> gradients_of(const Tensor& loss) {
    std::vector<Numbers> all;
    GradientOptions zeros;
    zeros.materialize_grads = true;
    if (!loss.requires_grad()) return std::vector<Numbers>(3, Numbers(4, 0));
    for (const Tensor& gradient : gradients({loss}, {x_, w_, leaf_}, zeros))
      all.push_back(numbers(gradient));
    return all;
  }

  template <class Call>
  void in_mode(Call&& call) {
    const InferenceMode inference(mode_ == 3);
    const GradMode grad(mode_ < 2);
    call();
  }

  void step() {
    mode_ = pick(0, 3);  // 0, 1: recorded; 2: no_grad; 3: inference
    text += mode_ < 2 ? "; " : mode_ == 2 ? "; no_grad" : "; inference";
    switch (pick(0, 4)) {
      case 0:
      case 1:
        return view(mode_ >= 2);
      case 2:
      case 3:
        return change(mode_ < 2);
      default:
        if (mode_ < 2) return read(any());
    }
  }

  void view(bool unrecorded) {
    text += " view";
    const Alias from = any();
    const auto size = static_cast<int64_t>(from.at.size());
    Alias made = from;
    made.constant = from.constant || unrecorded;
    switch (pick(0, 5)) {
      case 5: {
        text += " overlap";
        if (size < 2) return;
        in_mode([&] { made.real = from.real.view({1, size}).slice(1, 0, 1).expand({2, 1}); });
        in_mode([&] { made.real = made.real.view({2}); });
        made.at = {from.at[0], from.at[0]};
        break;
      }
      case 0: {
        text += " same";
        in_mode([&] { made.real = apply("same", from.real); });
        // A tensor that does not require grad is returned itself.
        if (made.real.is_same(from.real)) made.constant = from.constant;
        break;
      }
      case 1: {
        text += " reshape";
        in_mode([&] { made.real = from.real.view({1, -1}).select(0, 0); });
        break;
      }
      case 2: {
        text += " detach";
        in_mode([&] { made.real = from.real.detach(); });
        std::vector<int64_t> cover;
        for (const int64_t at : from.at)
          cover.push_back(from.history->cover[static_cast<size_t>(at)]);
        made.history =
            std::make_shared<History>(History{from.history->storage, cover, value(from).detach()});
        made.constant = false;
        for (size_t i = 0; i < made.at.size(); ++i) made.at[i] = static_cast<int64_t>(i);
        histories_.push_back(made.history);
        break;
      }
      case 3: {
        if (size < 2) return;
        text += " chunk";
        in_mode([&] { made.real = from.real.chunk(2)[1]; });
        made.at.assign(from.at.begin() + (size + 1) / 2, from.at.end());
        break;
      }
      default: {
        const int begin = pick(0, static_cast<int>(size) - 1);
        const int end = pick(begin + 1, static_cast<int>(size));
        const int by = pick(1, 2);
        text += " slice";
        in_mode([&] { made.real = from.real.slice(0, begin, end, by); });
        made.at.clear();
        for (int i = begin; i < end; i += by) made.at.push_back(from.at[static_cast<size_t>(i)]);
      }
    }
    aliases_.push_back(made);
  }

  void change(bool recorded) {
    text += " change";
    const Alias alias = any();
    const auto size = static_cast<int64_t>(alias.at.size());
    Tensor target = alias.real;
    const Tensor before = value(alias);
    Tensor after;
    switch (pick(0, 5)) {
      case 0:
        text += " mul number";
        in_mode([&] { target.mul_(3); });
        after = before * 3;
        break;
      case 1: {
        text += " mul tensor";
        const Tensor by = w_.slice(0, 0, size);
        in_mode([&] { target.mul_(by); });
        after = before * by;
        break;
      }
      case 2: {
        text += " add tensor";
        const Tensor more = w_.slice(0, 4 - size, 4) * 2;
        in_mode([&] { target.add_(more); });
        after = before + more;
        break;
      }
      case 3: {
        text += " copy constant";
        const Tensor source = full({size}, 0.5, f64);
        in_mode([&] { target.copy_(source); });
        after = before * 0 + source;
        break;
      }
      case 4:
        text += " Function";
        in_mode([&] { apply("double_in_place", target); });
        after = before * 2;
        break;
      default:
        text += " zero gradient";
        in_mode([&] { apply("step_", target); });
        after = (before * 0).detach() + 1;
    }
    for (const std::shared_ptr<History>& history : histories_) {
      if (history->storage != alias.history->storage) continue;
      if (history == alias.history && recorded) {
        history->value = put(history->value, alias.at, after);
        continue;
      }
      // The data alone.
      for (size_t i = 0; i < alias.at.size(); ++i) {
        const int64_t place = alias.history->cover[static_cast<size_t>(alias.at[i])];
        for (size_t k = 0; k < history->cover.size(); ++k) {
          if (history->cover[k] != place) continue;
          const std::vector<int64_t> one = {static_cast<int64_t>(k)};
          const Tensor old = take(history->value, one);
          const Tensor difference =
              (after.slice(0, static_cast<int64_t>(i), static_cast<int64_t>(i) + 1) - old).detach();
          history->value = put(history->value, one, old + difference);
        }
      }
    }
  }

  void read(const Alias& alias) {
    text += " read";
    const int weight = pick(1, 5);
    const bool square = pick(0, 1) == 1;
    const auto loss = [&](const Tensor& v) { return sum(square ? v * v * weight : v * weight); };
    const Tensor real = loss(alias.real), expected = loss(value(alias));
    real_loss_ = real_loss_ + real;
    expected_loss_ = expected_loss_ + expected;
  }

  std::mt19937 random_;
  int mode_ = 0;
  Tensor x_ = leaf({1, -2, 3, 4}), w_ = leaf({2, 3, -1, 5}), leaf_ = leaf({3, 1, 2, -1});
  std::vector<std::shared_ptr<History>> histories_;
  std::vector<Alias> aliases_;
  Tensor real_loss_ = scalar(0), expected_loss_ = scalar(0);
};

}  // namespace

TEST_SUITE("sdk/views") {
  TEST_CASE("a view made in no_grad is not changed in place with grad mode on") {
    const Tensor x = leaf({1, 2, 3}), w = leaf({4, 5}), k = row({4, 5});
    for (const bool is_leaf : {false, true}) {
      const Tensor y = is_leaf ? x : x * 1;
      Tensor v = first_two<NoGrad>(y), again = v.slice(0, 0, 1);
      CHECK_FALSE(v.requires_grad());
      CHECK(has(refused_change(y, [&] { v.mul_(5); }), kNoGradText));
      CHECK(has(refused_change(y, [&] { v.mul_(k); }), kNoGradText));
      CHECK(has(refused_change(y, [&] { v.mul_(w); }), kNoGradText));
      CHECK(has(refused_change(y, [&] { v.copy_(k); }), kNoGradText));
      CHECK(has(refused_change(y, [&] { v.zero_(); }), kNoGradText));
      CHECK(has(refused_change(y, [&] { again.add_(1); }), kNoGradText));
      CHECK(has(refusal([&] { Op("add")(k, k, arg("out") = v); }).text, "out=..."));
      // Inside the mode it is the user's own business, and a read has no gradient.
      {
        const NoGrad off;
        v.mul_(2);
      }
      CHECK(numbers(gradients({sum(y) + sum(v)}, {x})[0]) == Numbers{1, 1, 1});
    }
    const Tensor constant = row({1, 2, 3});
    Tensor v = first_two<NoGrad>(constant);
    v.mul_(2);  // nothing requires grad
    CHECK(has(refused_change(constant, [&] { v.mul_(w); }), kNoGradText));
  }

  TEST_CASE("the same of views made in inference mode, of several at once, and of Functions") {
    const Tensor x = leaf({1, 2, 3, 4});
    const Tensor y = x * 1;
    Tensor v = first_two<InferenceMode>(y), part, same;
    CHECK(has(refused_change(y, [&] { v.mul_(5); }),
              "A view was created in inference mode and is being modified inplace in normal mode"));
    {
      const NoGrad off;
      part = chunk(y, 2)[1];
      same = apply("same", y);
    }
    CHECK(has(refused_change(y, [&] { part.mul_(5); }), kNoGradText));
    CHECK(has(refused_change(y, [&] { same.mul_(5); }), kNoGradText));
    CHECK(has(refusal([&] { apply("double_in_place", part); }).text, kNoGradText));
    const Tensor marked = std::get<0>(fx("marked_input").call<std::tuple<Tensor, Tensor>>(y));
    CHECK(has(refused_change(y, [&] { marked.mul_(5); }), "does not require grad"));
    chunk(y, 2)[1].mul_(5);
    CHECK(numbers(gradients({sum(y)}, {x})[0]) == Numbers{1, 1, 5, 5});
  }

  TEST_CASE("a view made in no_grad is not read once its base was changed with a history") {
    const Tensor x = leaf({1, 2, 3});
    Tensor y = x * 1;
    const Tensor v = first_two<NoGrad>(y);
    y.mul_(3);
    CHECK(has(refusal([&] { v * 2; }).text, "its base, or another view of its base, was modified"));
    Tensor flat = row({1, 2, 3}), own = flat.slice(0, 0, 2);
    own.requires_grad_();
    flat.mul_(x);
    CHECK(has(refusal([&] { own * 2; }).text, "the leaf's value is computed now"));
  }

  TEST_CASE("views whose elements share memory share its gradient, and are not changed") {
    const Tensor x = leaf({1, 2, 3});
    Tensor y = x * 1;
    Tensor wide = y.slice(0, 0, 1).expand({3}), windows = y.as_strided({2, 2}, {1, 1});
    CHECK(has(refused_change(y, [&] { wide.mul_(2); }), "more than one of its elements"));
    CHECK(has(refused_change(y, [&] { windows.mul_(2); }), "mul_(): a tensor of shape [2, 2]"));
    y.mul_(2);
    const Tensor g = gradients({sum(wide) + sum(windows * windows)}, {x}, recorded())[0];
    CHECK(numbers(g) == Numbers{14, 32, 24});
    CHECK(numbers(gradients({sum(g)}, {x})[0]) == Numbers{8, 16, 8});
    const DualLevel level;
    const Tensor dual = make_dual(row({1, 2, 3}), row({1, 1, 1}));
    CHECK(has(refusal([&] {
                dual.as_strided({2, 2}, {1, 1}).mul_(2);
              }).text,
              "more than one of its elements"));
    Tensor unrecorded;
    {
      const NoGrad off;
      unrecorded = dual.slice(0, 0, 2);
    }
    unrecorded.mul_(2);
    CHECK(numbers(unpack_dual(dual).tangent) == Numbers{2, 2, 1});
  }

  TEST_CASE("an operand on the memory that the op changes is kept as it was before") {
    const auto change = [](const std::function<void(Tensor&)>& with) {
      const Tensor x = row({2, 3}).requires_grad_();
      Tensor y = x * 1;
      with(y);
      sum(y).backward();
      return numbers(x.grad());
    };
    CHECK(change([](Tensor& y) { y.mul_(y); }) == Numbers{4, 6});
    CHECK(change([](Tensor& y) { y.div_(y); }) == Numbers{0, 0});
    CHECK(change([](Tensor& y) { y.mul_(select(y, 0, 0)); }) == Numbers{7, 2});
    CHECK(change([](Tensor& y) { y.view({1, 2}).mul_(y); }) == Numbers{4, 6});
  }

  TEST_CASE("operands of a list on the memory that the op changes are kept as they were before") {
    std::mt19937 random(11);
    for (int round = 0; round < 200; ++round) {
      const auto operands = [&](const Tensor& y, const Tensor& other, std::mt19937 choices) {
        const std::vector<Tensor> all{y,           select(y, 0, 1), y.slice(0, 0, 1),
                                      y.view({3}), other,           row({3, -1, 2})};
        std::vector<Tensor> list;
        for (unsigned count = choices() % 4; count > 0; --count)
          list.push_back(all[choices() % all.size()]);
        return list;
      };
      const Tensor x = leaf({2, 3, -1}), other = leaf({1, -2, 4});
      const Tensor y = x * 1;
      const std::vector<Tensor> list = operands(y, other, random);
      Tensor expected = y;
      for (const Tensor& factor : list) expected = expected * factor;
      const std::vector<Tensor> inputs{x, other};
      GradientOptions options;
      options.allow_unused = true;
      const auto right = gradients({sum(expected)}, inputs, options);
      Tensor z = x * 1;
      apply("multiply_all_", z, operands(z, other, random));
      random.discard(8);
      INFO("round ", round);
      CHECK(numbers(z) == numbers(expected));
      const auto found = gradients({sum(z)}, inputs, options);
      for (size_t i = 0; i < inputs.size(); ++i) {
        REQUIRE(found[i].defined() == right[i].defined());
        if (found[i].defined()) CHECK(numbers(found[i]) == numbers(right[i]));
      }
    }
  }

  TEST_CASE("a view of what a module has converted is refused where its place is needed") {
    const Module module = Module::create("Sequential");
    Module(module).register_buffer("b", zeros(std::vector<int64_t>{4}));
    const Tensor base = module.tensor("b");
    Tensor view = slice(base, 0, 1, 3);
    Module(module).to(f64);
    const Refusal refused = refusal([&] { view.add_(tensor({1., 2.}).requires_grad_()); });
    CHECK(has(refused.text, "take the view again after the conversion"));
  }

  TEST_CASE("an op without gradient that changes a tensor ends its history") {
    const Tensor x = leaf({1, -2, 3});
    Tensor y = x * 1;
    apply("step_", y);
    const Tensor z = x * 1;
    apply("step_", z.slice(0, 0, 2));
    CHECK(numbers(gradients({sum(y) + sum(z)}, {x})[0]) == Numbers{0, 0, 1});
  }

  TEST_CASE("an op that changes what requires grad and does not return it is refused") {
    const Tensor x = leaf({1, 2}), y = x * 1, constant = row({1, 2});
    CHECK(has(refusal([&] { apply("running", x, y); }).text,
              "running(): changes 'total' in place, which requires grad, and does not return it"));
    CHECK(numbers(gradients({sum(apply("running", x, constant))}, {x})[0]) == Numbers{2, 2});
    CHECK(numbers(constant) == Numbers{2, 4});
  }

  TEST_CASE("random programs of views, changes and reads are right or refused") {
    int accepted = 0;
    constexpr int programs = 2000;
    for (unsigned seed = 0; seed < programs; ++seed) {
      Program program(seed);
      bool done = false;
      const Refusal failed = refusal([&] { done = program.run(); });
      INFO("seed ", seed, program.text);
      CHECK(failed.text == "");
      CHECK(program.right);
      accepted += done ? 1 : 0;
    }
    CHECK(accepted > programs / 5);
  }
}
