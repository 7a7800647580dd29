// Optimizers: any op of the right schema, its states and keywords.
#include "support.hpp"

using training::Optimizer;

namespace {

Optimizer optimizer_of(const std::string& section, const Tensor& parameter) {
  return Optimizer(Json::parse(section), {{"p", parameter}});
}
void set_gradient(Tensor parameter, const Tensor& gradient) { parameter.set_grad(gradient); }
std::vector<std::string> state_names(const Optimizer& optimizer) {
  std::vector<std::string> names;
  for (const auto& state : optimizer.states()) names.push_back(state.first);
  return names;
}

}  // namespace

TEST_SUITE("optimizer") {
  TEST_CASE("states are made from the schema, optional ones where their keyword asks for them") {
    use_trainers();
    using Names = std::vector<std::string>;
    const Tensor p = tenon::zeros({3}).requires_grad_();
    CHECK(state_names(optimizer_of(R"({"type": "sgd", "learning_rate": 1})", p)) == Names{});
    CHECK(state_names(optimizer_of(R"({"type": "sgd", "learning_rate": 1, "momentum": 0.5})", p)) ==
          Names{"p.momentum_buffer"});
    CHECK(state_names(optimizer_of(R"({"type": "adam", "learning_rate": 1})", p)) ==
          Names{"p.first_moment", "p.second_moment"});
    CHECK(state_names(optimizer_of(R"({"type": "rmsprop", "learning_rate": 1, "centered": true})",
                                   p)) == Names{"p.square_average", "p.centered_average"});
    CHECK(state_names(optimizer_of(R"({"type": "trainers.lion", "learning_rate": 1})", p)) ==
          Names{"p.mean"});
    CHECK(state_names(
              optimizer_of(R"({"type": "trainers.lion", "learning_rate": 1, "trace": true})", p)) ==
          Names{"p.mean", "p.trace_sum"});
  }

  TEST_CASE("a step passes the rate times the factor and its number, and drops the gradients") {
    const Tensor p = tenon::tensor({1.0, 2.0}).requires_grad_();
    Optimizer sgd = optimizer_of(R"({"type": "sgd", "learning_rate": 0.5})", p);
    set_gradient(p, tenon::tensor({1.0, -1.0}));
    CHECK(sgd.gradients().size() == 1);
    sgd.step(0.5);
    CHECK(p.to_vector<double>() == std::vector<double>{0.75, 2.25});
    CHECK_FALSE(p.grad().defined());
    sgd.step();  // without gradients nothing changes
    CHECK(p.to_vector<double>() == std::vector<double>{0.75, 2.25});
    CHECK(sgd.steps() == 2);
    const Tensor q = tenon::tensor({1.0, 2.0}).requires_grad_(), r = q.detach().clone();
    Optimizer adam =
        optimizer_of(R"({"type": "adam", "learning_rate": 0.1, "betas": [0.8, 0.9]})", q);
    const Tensor m = tenon::zeros({2}), v = tenon::zeros({2});
    for (int64_t step = 1; step <= 3; ++step) {
      const Tensor g = tenon::tensor({0.5, -0.25}) * static_cast<double>(step);
      set_gradient(q, g);
      adam.step();
      tenon::optim::adam_step_(r, g, m, v, step, 0.1, std::vector<double>{0.8, 0.9});
    }
    CHECK(q.to_vector<float>() == r.to_vector<float>());
  }

  TEST_CASE("the list form of an optimizer steps all parameters in one call") {
    use_trainers();
    const Tensor p = tenon::tensor({1.0, 2.0}).requires_grad_(),
                 q = tenon::tensor({3.0}).requires_grad_(),
                 left = tenon::tensor({4.0}).requires_grad_();
    const auto step = [&](const std::string& section) {
      Optimizer optimizer(Json::parse(section), {{"p", p}, {"left", left}, {"q", q}});
      set_gradient(p, tenon::tensor({1.0, 0.0}));
      set_gradient(q, tenon::tensor({1.0}));
      optimizer.step();
      CHECK_FALSE(p.grad().defined());
    };
    // The list form moves twice as far.
    step(R"({"type": "trainers.drift", "learning_rate": 0.25})");
    CHECK(p.to_vector<double>() == std::vector<double>{0.5, 1.5});
    CHECK(q.to_vector<double>() == std::vector<double>{2.5});
    CHECK(left.to_vector<double>() == std::vector<double>{4});  // has no gradient
    step(R"({"type": "trainers.drift", "learning_rate": 0.25, "trace": true})");
    CHECK(q.to_vector<double>() == std::vector<double>{2});
    // One with other keywords is not a list form.
    step(R"({"type": "trainers.direction", "learning_rate": 0.5})");
    CHECK(q.to_vector<double>() == std::vector<double>{1.5});
    CHECK(left.to_vector<double>() == std::vector<double>{4});
  }

  TEST_CASE("what is not an optimizer is refused with the reason") {
    const Tensor p = tenon::zeros({3}).requires_grad_();
    CHECK(contains(refusal([&] { optimizer_of(R"({"type": "add"})", p); }),
                   "add is not an optimizer: "));
    CHECK(contains(
        refusal([&] { optimizer_of(R"({"type": "sgd", "learning_rate": 1})", tenon::zeros({3})); }),
        "the model has no parameters to train"));
  }
}
