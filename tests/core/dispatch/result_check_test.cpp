// Results that are not what the schema declares are refused, each with its op, provider and
// position.
#include "core/dispatch/call/result_check.hpp"

#include "core/autograd/graph/history.hpp"
#include "core/base/allocator.hpp"
#include "tests/core/dispatch/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

// Results of the next run.
struct Given {
  std::vector<tenon_value> results;
};
Given& given() {
  static Given next;
  return next;
}

tenon_status give(void*, tenon_context*, const tenon_value*, tenon_value* results, tenon_error**) {
  for (size_t r = 0; r < given().results.size(); ++r) results[r] = given().results[r];
  return TENON_OK;
}

tenon_value tagged(uint32_t tag) {
  tenon_value value{};
  value.tag = tag;
  return value;
}
tenon_value owned(const TensorRef& tensor) { return tensor_value(TensorRef(tensor).give()); }
tenon_value list(std::vector<TensorRef> tensors) {
  auto** memory = static_cast<Tensor**>(
      allocate(tensors.empty() ? 1 : static_cast<int64_t>(tensors.size() * sizeof(Tensor*))));
  for (size_t i = 0; i < tensors.size(); ++i) memory[i] = tensors[i].give();
  tenon_value value = tagged(TENON_VALUE_TENSOR_LIST);
  value.length = static_cast<uint32_t>(tensors.size());
  value.as.tensors = memory;
  return value;
}

class Refused {
 public:
  explicit Refused(uint32_t flags = 0) : flags_(flags) {}
  // The error of a call whose run gives these results; "" when it succeeds.
  std::string operator()(const char* schema, std::vector<tenon_value> results,
                         const std::vector<tenon_value>& arguments) {
    Registry registry;
    tenon_op_descriptor op = descriptor(schema, give);
    op.flags = flags_;
    const tenon_op_descriptor* pointer = &op;
    registry.commit("provider", {&pointer, 1});
    given().results = std::move(results);
    Outcome outcome;
    call(outcome, registry.find("r.op"), arguments);
    if (outcome.status == TENON_OK) return "";
    CHECK(outcome.status == TENON_ERROR_TYPE);
    CHECK(outcome.op == "r.op");
    CHECK(outcome.provider == "provider");
    CHECK(has(outcome.message, "; fix the op in plugin 'provider'"));
    return outcome.message.substr(0, outcome.message.find(';'));
  }

 private:
  uint32_t flags_;
};

}  // namespace

TEST_SUITE("dispatch/result_check") {
  TEST_CASE("what is missing, of another kind, or unknown") {
    Refused refused;
    const TensorRef x = floats({1, 2});
    const std::vector<tenon_value> one{tensor_value(x.get())};
    const char* tensor = "r.op(Tensor x) -> Tensor";
    CHECK(refused(tensor, {}, one) == "op(): result 0 is none, but the schema declares Tensor");
    CHECK(refused(tensor, {integer(3)}, one) ==
          "op(): result 0 is int, but the schema declares Tensor");
    CHECK(has(refused(tensor, {tagged(99)}, one), "result 0 is value with unknown tag 99"));
    CHECK(has(refused(tensor, {tagged(TENON_VALUE_TENSOR)}, one), "without what it holds"));
    CHECK(has(refused(tensor, {tagged(TENON_VALUE_NOT_IMPLEMENTED)}, one), "NotImplementedType"));
    CHECK(refused(tensor, {owned(x)}, one).empty());
    const char* two = "r.op(Tensor x) -> (Tensor a, Tensor b)";
    CHECK(refused(two, {owned(x)}, one) ==
          "op(): result 1 is none, but the schema declares Tensor");
    CHECK(has(refused(two, {integer(0), owned(x)}, one), "result 0 is int"));
    CHECK(refused(two, {owned(x), owned(x)}, one).empty());
    CHECK(x->references.load() == 1);
  }

  TEST_CASE("every kind of the schema takes its own values") {
    Refused refused;
    const TensorRef x = floats({1, 2});
    const auto values = [&] {
      return std::vector<tenon_value>{tagged(TENON_VALUE_NONE),
                                      tagged(TENON_VALUE_BOOL),
                                      integer(0),
                                      number(0),
                                      tagged(TENON_VALUE_DTYPE),
                                      owned(x),
                                      list({x, x}),
                                      list({})};
    };
    // A letter for each of them: y where it is taken.
    const auto takes = [&](const std::string& type) {
      std::string taken;
      std::vector<tenon_value> all = values();
      for (tenon_value& value : all)
        taken +=
            refused(("r.op(Tensor x) -> " + type).c_str(), {value}, {tensor_value(x.get())}).empty()
                ? 'y'
                : '-';
      return taken;
    };
    CHECK(takes("Tensor") == "-----y--");
    CHECK(takes("Tensor?") == "y----y--");
    CHECK(takes("Tensor[]") == "------yy");
    CHECK(takes("Tensor[]?") == "y-----yy");
    CHECK(takes("Scalar") == "-yyy----");
    CHECK(takes("int") == "-yy-----");
    CHECK(takes("float") == "--yy----");
    CHECK(takes("bool") == "-y------");
    CHECK(takes("dtype") == "----y---");
    CHECK(takes("any") == "yyyyyyyy");
    CHECK(x->references.load() == 1);
    CHECK(has(
        refused("r.op(Tensor x) -> Tensor[]", {list({x, TensorRef()})}, {tensor_value(x.get())}),
        "result 0 has an undefined tensor at position 1"));
    CHECK(x->references.load() == 1);
  }

  TEST_CASE("a result that is, or shares the memory of, an argument is that argument's") {
    Refused refused;
    const TensorRef x = floats({1, 2}), y = floats({3, 4});
    const std::vector<tenon_value> both{tensor_value(x.get()), tensor_value(y.get())};
    const char* in_place = "r.op(Tensor(a!) x, Tensor y) -> Tensor(a!)";
    CHECK(refused(in_place, {owned(x)}, both).empty());
    CHECK(refused(in_place, {owned(y)}, both) ==
          "op(): result 0 is not the argument 'x', but the schema declares Tensor(a!)");
    CHECK(has(refused(in_place, {owned(make_detached(*x))}, both), "is not the argument 'x'"));
    const char* view = "r.op(Tensor(a) x, Tensor y) -> Tensor(a)";
    CHECK(refused(view, {owned(make_detached(*x))}, both).empty());
    CHECK(refused(view, {owned(x)}, both).empty());
    CHECK(refused(view, {owned(y)}, both) ==
          "op(): result 0 does not share the memory of the argument 'x', but the schema declares "
          "Tensor(a)");
    CHECK(has(refused("r.op(Tensor(a) x, Tensor y) -> Tensor(a)[]", {list({x, y})}, both),
              "does not share"));
    CHECK(has(refused("r.op(Tensor(a) x, Tensor(b!) y) -> (Tensor(a) p, Tensor(b!) q)",
                      {owned(x), owned(make_detached(*y))}, both),
              "result 1 is not the argument 'y'"));
    Refused copying(TENON_OP_MAY_COPY);
    CHECK(copying(view, {owned(floats({1}))}, both).empty());
    CHECK(x->references.load() == 1);
    CHECK(y->references.load() == 1);
  }
}
