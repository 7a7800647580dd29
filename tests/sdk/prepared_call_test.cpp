// Prepared calls: a provider that is chosen once, runs by it, and what makes the choice stale.
#include <memory>
#include <string_view>

#include <tenon/service.hpp>
#include <tenon/trace.hpp>

#include "tests/reload/generation.hpp"
#include "tests/sdk/functions.hpp"

using namespace functions;

namespace {

class PreparedAdd {
 public:
  PreparedAdd(const Op& op, const std::vector<tenon_value>& arguments) {
    call_slot(service::calls().prepare, op.handle(), arguments.data(),
              static_cast<int64_t>(arguments.size()), &call_);
  }
  ~PreparedAdd() { service::calls().release(call_); }
  PreparedAdd(const PreparedAdd&) = delete;
  PreparedAdd& operator=(const PreparedAdd&) = delete;

  Tensor run(const std::vector<tenon_value>& arguments) const {
    tenon_value results[detail::max_results] = {};
    call_slot(service::calls().run, call_, arguments.data(), results);
    return Value(results[0]).tensor();
  }
  void run_into(const std::vector<tenon_value>& arguments, const Tensor& result) const {
    call_slot(service::calls().run_into, call_, arguments.data(), result.handle());
  }
  Tensor run_placed(const std::vector<tenon_value>& arguments, const Tensor& result) const {
    tenon_value results[detail::max_results] = {};
    tenon_tensor* place = Tensor(result).give();
    call_slot(service::calls().run_placed, call_, arguments.data(), &place, results);
    const Tensor left = Tensor::take(place);
    return Value(results[0]).tensor();
  }
  void hold() const { call_slot(service::calls().hold, call_); }
  std::string provider() const { return service::calls().provider(call_); }
  bool writes_into() const { return service::calls().writes_into(call_) != 0; }

 private:
  tenon_prepared_call* call_ = nullptr;
};

std::vector<tenon_value> added(const Tensor& a, const Tensor& b) {
  return {Argument(a).value(), Argument(b).value(), Argument(1).value(), Argument(none).value()};
}

}  // namespace

TEST_SUITE("sdk/prepared_call") {
  TEST_CASE("a prepared call gives what the op gives, by the provider that was chosen") {
    const Tensor a = row({1, 2}), b = row({3, 4});
    const PreparedAdd sum(Op("add"), added(a, b));
    CHECK(sum.provider() == "math");
    CHECK(numbers(sum.run(added(a, b))) == Numbers{4, 6});
    CHECK(numbers(sum.run(added(b, b))) == Numbers{6, 8});
    const Tensor x = leaf({1, 2});
    CHECK(sum.run(added(x, b)).requires_grad());
    CountMode count;
    const ModeScope scope(count);
    sum.run(added(a, b));
    CHECK(count.calls()["add"] == 1);
  }

  TEST_CASE("loops write into memory of the caller, an operand among it") {
    const Tensor a = row({1, 2}), b = row({3, 4}), result = row({0, 0});
    const PreparedAdd sum(Op("add"), added(a, b));
    REQUIRE(sum.writes_into());
    const int64_t version = result.version();
    sum.run_into(added(a, b), result);
    CHECK(numbers(result) == Numbers{4, 6});
    CHECK(result.version() == version);
    sum.run_into(added(a, b), a);
    CHECK(numbers(a) == Numbers{4, 6});
    const PreparedAdd product(Op("mul"), {Argument(a).value(), Argument(b).value(), tenon_value{}});
    product.run_into({Argument(a).value(), Argument(2.0).value(), tenon_value{}}, result);
    CHECK(numbers(result) == Numbers{8, 12});
    const Tensor matrix = ones({2, 2});
    const PreparedAdd matmul(Op("matmul"),
                             {Argument(matrix).value(), Argument(matrix).value(), tenon_value{}});
    CHECK_FALSE(matmul.writes_into());
    CHECK_THROWS_AS(
        matmul.run_into({Argument(matrix).value(), Argument(matrix).value(), {}}, matrix),
        ArgumentError);
  }

  TEST_CASE("a place is the first tensor of its layout that the kernel makes") {
    const Tensor matrix = ones({2, 2});
    const std::vector<tenon_value> arguments{
        Argument(matrix).value(), Argument(matrix).value(), {}};
    Op("matmul").call<Tensor>(matrix, matrix);  // which loads what it needs
    const PreparedAdd matmul(Op("matmul"), arguments);
    const Tensor place = empty_tensor({2, 2}), other = empty_tensor({4});
    CHECK(matmul.run_placed(arguments, place).is_same(place));
    CHECK_FALSE(matmul.run_placed(arguments, other).is_same(other));
    CHECK_FALSE(matmul.run(arguments).is_same(place));
    CHECK(service::tensors().use_count(place.handle()) == 1);
    CHECK(service::tensors().use_count(other.handle()) == 1);
    CHECK(numbers(place.reshape({4})) == Numbers{2, 2, 2, 2});
  }

  TEST_CASE("arguments of another number or kind are refused") {
    const Tensor a = row({1, 2});
    CHECK_THROWS_WITH_AS(
        PreparedAdd(Op("add"), {Argument(a).value()}),
        "add(): a prepared call has one value for each of its 4 parameters, of the kinds that its "
        "schema names: pass what a mode sees",
        ArgumentError);
    const PreparedAdd sum(Op("add"), added(a, a));
    CHECK_THROWS_WITH_AS(
        sum.run({Argument("a").value(), Argument(a).value(), Argument(1).value(), tenon_value{}}),
        "add: the call was prepared for plugin 'math', and these arguments are of another kind; "
        "pass "
        "what it was prepared for",
        ArgumentError);
  }

  TEST_CASE("a choice ends when providers change, and is never run by code that was unloaded") {
    generation::start("1");
    const Tensor x = row({1});
    const std::vector<tenon_value> arguments{Argument(x).value()};
    const auto first = std::make_unique<PreparedAdd>(Op("generation.scale"), arguments);
    CHECK(numbers(first->run(arguments)) == Numbers{1});
    const uint64_t before = service::calls().ops_generation();
    generation::start("2");
    CHECK(service::calls().ops_generation() > before);
    CHECK_THROWS_WITH_AS(first->run(arguments),
                         "generation.scale: the call was prepared for plugin 'generation', and "
                         "providers of ops have changed since; prepare it again",
                         PluginError);
    const PreparedAdd second(Op("generation.scale"), arguments);
    CHECK(numbers(second.run(arguments)) == Numbers{2});
    CHECK(unload("generation", Unload::wait)["state"].text() == "unmapped");
    CHECK_THROWS_AS(second.run(arguments), PluginError);
    CHECK_THROWS_AS(PreparedAdd(Op("generation.scale"), arguments), Error);
  }

  TEST_CASE("a held call runs the code that it was prepared for, which is unloaded after it") {
    generation::start("1");
    const Tensor x = row({1});
    const std::vector<tenon_value> arguments{Argument(x).value()};
    const Op scale("generation.scale");
    const PreparedAdd before(scale, arguments);
    auto held = std::make_unique<PreparedAdd>(scale, arguments);
    held->hold();
    generation::start("2");
    CHECK(numbers(held->run(arguments)) == Numbers{1});
    CHECK_THROWS_AS(before.hold(), PluginError);
    held = std::make_unique<PreparedAdd>(scale, arguments);
    held->hold();
    CHECK(generation::has(generation::error_of([] { unload("generation"); }),
                          "it is held by 1 x call that runs later"));
    CHECK(unload("generation", Unload::force)["state"].text() == "draining");
    CHECK(numbers(held->run(arguments)) == Numbers{2});
    CHECK_THROWS_AS(scale.call<Tensor>(x), PluginError);
    CHECK(generation::retired() == 1);
    held.reset();
    CHECK(generation::retired() == 0);
  }

  TEST_CASE("changes of modules are counted") {
    Module module = Module::create("Linear", arg("in_features") = 2, arg("out_features") = 2);
    const auto rises = [&](auto&& change) {
      const uint64_t before = service::calls().modules_generation();
      change();
      return service::calls().modules_generation() > before;
    };
    CHECK_FALSE(rises([&] { module(ones({1, 2})); }));
    CHECK(rises([&] { module.eval(); }));
    CHECK(rises([&] { module.assign("bias", Tensor()); }));
    CHECK(rises([&] { module.register_buffer("more", ones({1})); }));
    CHECK(rises([&] { module.register_child("below", Module()); }));
    CHECK(rises([&] { module.register_parameter("other", ones({1})); }));
  }

  TEST_CASE("a stand-in has the layout of a tensor and no data") {
    const Tensor matrix = ones({2, 3}).transpose(0, 1);
    tenon_tensor* made = nullptr;
    call_slot(service::calls().stand_in, matrix.handle(), &made);
    const Tensor stand_in = Tensor::take(made);
    CHECK(stand_in.sizes() == matrix.sizes());
    CHECK(stand_in.stride(0) == matrix.stride(0));
    CHECK_FALSE(stand_in.is_contiguous());
    CHECK_THROWS_AS(stand_in.data<float>(), TypeError);
    CHECK_THROWS_AS(stand_in.to_vector<float>(), Error);
    CHECK_THROWS_WITH_AS(stand_in.sum(),
                         "sum(): an operand stands in for a tensor, and has no data", TypeError);
    CHECK_THROWS_AS(cat({matrix, stand_in}), TypeError);
  }

  TEST_CASE("a thread whose calls are seen is watched, and recorders are not counted as modes") {
    CHECK(service::calls().watched() == 0);
    CountMode count;
    {
      const ModeScope scope(count, Level::recorder);
      CHECK(service::calls().watched() == 1);
      CHECK(service::modes().count() == 0);
      ones({1});
      CHECK(count.calls()["ones"] == 1);
    }
    {
      const ModeScope scope(count);
      CHECK(service::modes().count() == 1);
    }
    {
      const TraceScope trace;
      CHECK(service::calls().watched() == 1);
    }
    CHECK(service::calls().watched() == 0);
  }
}
