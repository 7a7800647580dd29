// Ops that a config names: short names, checks against schemas, calls.
#include "support.hpp"

using training::OpChoice;

namespace {

std::string found(const training::OpRole& role, const std::string& name) {
  return training::find_op(role, name, {}).name;
}
OpChoice choice(const training::OpRole& role, const std::string& section) {
  return OpChoice(role, Json::parse(section));
}

}  // namespace

TEST_SUITE("op choice") {
  TEST_CASE("short names follow the forms of a role, for shipped ops and for others") {
    use_trainers();
    CHECK(found(training::optimizer_role(), "sgd") == "optim.sgd_step_");
    CHECK(found(training::optimizer_role(), "optim.adam_step_") == "optim.adam_step_");
    CHECK(found(training::optimizer_role(), "trainers.lion") == "trainers.lion_step_");
    CHECK(found(training::loss_role(), "mse_loss") == "nn.functional.mse_loss");
    CHECK(found(training::loss_role(), "mean") == "mean");
    CHECK(found(training::loss_role(), "trainers.squares") == "trainers.squares");
    CHECK(found(training::metric_role(), "f1") == "metric.f1");
    CHECK(found(training::schedule_role(), "one_cycle") == "schedule.one_cycle");
    CHECK(found(training::clip_role(), "norm") == "optim.clip_norm_");
    CHECK(found(training::clip_role(), "trainers.zero") == "trainers.zero_");
    CHECK(found(training::reader_role(), "csv") == "data.csv");
    CHECK(contains(refusal([] { found(training::optimizer_role(), "adma"); }),
                   "no optimizer is named 'adma' (did you mean 'adam'?); expected an op, or one of "
                   "adagrad, adam, adamw, rmsprop, sgd"));
    CHECK(contains(refusal([] { found(training::optimizer_role(), "trainers.lino_step_"); }),
                   "(did you mean 'trainers.lion_step_'?)"));
  }

  TEST_CASE("all faults of a section are reported at once, each with its place") {
    const std::string error = refusal([] {
      choice(training::optimizer_role(),
             R"({"type": "sgd", "learning_rat": 0.1, "momentum": "big", "nesterov": 1})");
    });
    CHECK(error ==
          "line 1, column 33: /learning_rat: optim.sgd_step_ has no argument 'learning_rat' (did "
          "you mean "
          "'learning_rate'?); it takes learning_rate, momentum, dampening, weight_decay, nesterov\n"
          "line 1, column 50: /momentum: optim.sgd_step_ takes 'float momentum', found \"big\"\n"
          "line 1, column 69: /nesterov: optim.sgd_step_ takes 'bool nesterov', found 1\n"
          "line 1, column 1: optim.sgd_step_ needs 'float learning_rate'");
    CHECK(contains(
        refusal([] { choice(training::schedule_role(), R"({"type": "cosine", "steps": 3})"); }),
        "has no argument 'steps'"));
    CHECK(contains(refusal([] { choice(training::loss_role(), R"({"type": "randperm"})"); }),
                   "takes 'int n' in the place of the output"));
    CHECK(contains(refusal([] { choice(training::clip_role(), R"({"type": "relu"})"); }),
                   "in the place of the gradients"));
    // True is not a number here, although a call takes it as 1.
    CHECK(contains(
        refusal([] { choice(training::metric_role(), R"({"type": "top_k", "k": true})"); }),
        "/k: metric.top_k takes 'int k', found true"));
  }

  TEST_CASE("a choice is called with what it has been given") {
    use_trainers();
    const Tensor a = tenon::tensor({1.0, 2.0}), b = tenon::tensor({0.0, 0.0});
    const OpChoice squares =
        choice(training::loss_role(), R"({"type": "trainers.squares", "weight": 2})");
    CHECK(squares.call_one({a, b}).tensor().item() == doctest::Approx(5));
    const OpChoice halving = choice(training::schedule_role(), R"({"type": "trainers.halving"})");
    CHECK(halving.call_one({}, {tenon::arg("epoch") = 2, tenon::arg("step") = 9})
              .scalar()
              .to<double>() == 0.25);
    CHECK(choice(training::reader_role(), R"({"type": "trainers.line", "count": 3})")
              .call({})
              .size() == 2);
  }
}
