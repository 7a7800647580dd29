// The tensors among arguments: visited in order, and replaced without touching the arguments.
#include "core/dispatch/call/operands.hpp"

#include "tests/core/dispatch/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

tenon_status nothing(void*, tenon_context*, const tenon_value*, tenon_value*, tenon_error**) {
  return TENON_OK;
}
tenon_value list_value(std::vector<Tensor*>& list) {
  tenon_value value{};
  value.tag = TENON_VALUE_TENSOR_LIST;
  value.length = static_cast<uint32_t>(list.size());
  value.as.tensors = list.data();
  return value;
}

using Places = std::vector<std::pair<Tensor*, uint32_t>>;

struct Arguments {
  const TensorRef a = floats({1}), b = floats({2}), c = floats({3}), d = floats({4});
  std::vector<Tensor*> first{a.get(), nullptr, b.get()}, second{b.get(), a.get()};
  std::unique_ptr<Implementation> implementation = make_implementation(
      descriptor("f(Tensor[] list, Tensor? none, Tensor(a!) x, Tensor[] more, float by, *, "
                 "Tensor(b!)? out=None) -> Tensor(a!)",
                 nothing),
      "test");
  const tenon_value values[6] = {list_value(first),  {},        tensor_value(c.get()),
                                 list_value(second), number(2), tensor_value(d.get())};
};

}  // namespace

TEST_SUITE("dispatch/operands") {
  TEST_CASE("operands are visited in order, lists entry by entry, undefined ones left out") {
    Arguments given;
    std::vector<Tensor*> seen;
    for_each_operand(*given.implementation, given.values,
                     [&](Tensor* tensor) { seen.push_back(tensor); });
    CHECK(seen == std::vector<Tensor*>{given.a.get(), given.b.get(), given.c.get(), given.b.get(),
                                       given.a.get(), given.d.get()});
  }

  TEST_CASE("a slot is a tensor parameter, given or not, or an entry of a list; out has none") {
    Arguments given;
    std::vector<Tensor*> seen;
    std::vector<uint32_t> parameters;
    for_each_slot(*given.implementation, given.values,
                  [&](size_t slot, Tensor* tensor, uint32_t at) {
                    CHECK(slot == seen.size());
                    seen.push_back(tensor);
                    parameters.push_back(at);
                  });
    CHECK(seen == std::vector<Tensor*>{given.a.get(), nullptr, given.b.get(), nullptr,
                                       given.c.get(), given.b.get(), given.a.get()});
    CHECK(parameters == std::vector<uint32_t>{0, 0, 0, 1, 2, 3, 3});
    CHECK(count_slots(*given.implementation, given.values) == seen.size());
  }

  TEST_CASE("what a call changes in place is not its out, what it writes is both") {
    Arguments given;
    Places mutated, written;
    for_each_mutated(*given.implementation, given.values,
                     [&](Tensor* tensor, uint32_t at) { mutated.emplace_back(tensor, at); });
    for_each_written(*given.implementation, given.values,
                     [&](Tensor* tensor, uint32_t at) { written.emplace_back(tensor, at); });
    CHECK(mutated == Places{{given.c.get(), 2}});
    CHECK(written == Places{{given.c.get(), 2}, {given.d.get(), 5}});
    CHECK(has_out(*given.implementation, given.values));
  }

  TEST_CASE("each operand is asked about once, and replaced in a copy of the arguments") {
    Arguments given;
    const TensorRef other = floats({9});
    ReplacedOperands replaced;
    Places asked;
    replaced.set(*given.implementation, given.values, [&](Tensor* tensor, uint32_t at) {
      asked.emplace_back(tensor, at);
      return tensor == given.a.get() || tensor == given.c.get() ? other.get() : tensor;
    });
    CHECK(asked == Places{{given.a.get(), 0},
                          {given.b.get(), 0},
                          {given.c.get(), 2},
                          {given.b.get(), 3},
                          {given.a.get(), 3},
                          {given.d.get(), 5}});
    const tenon_value* values = replaced.values();
    const auto entries = [](const tenon_value& list) {
      return std::vector<Tensor*>(list.as.tensors, list.as.tensors + list.length);
    };
    // The first list is not moved by the second.
    CHECK(entries(values[0]) == std::vector<Tensor*>{other.get(), nullptr, given.b.get()});
    CHECK(values[1].tag == TENON_VALUE_NONE);
    CHECK(values[2].as.tensor == other.get());
    CHECK(entries(values[3]) == std::vector<Tensor*>{given.b.get(), other.get()});
    CHECK(values[4].as.number == 2);
    CHECK(values[5].as.tensor == given.d.get());
    CHECK(given.first[0] == given.a.get());
    CHECK(given.values[2].as.tensor == given.c.get());
  }

  TEST_CASE("a place that owns a tensor gives up what it held for another, or for none") {
    const TensorRef a = floats({1}), b = floats({2});
    Tensor* place = nullptr;
    put(place, a);
    CHECK(a->references == 2);
    put(place, b);
    CHECK(place == b.get());
    CHECK(a->references == 1);
    put(place, TensorRef(place));  // itself
    CHECK(b->references == 2);
    put(place, {});
    CHECK(place == nullptr);
    CHECK(b->references == 1);
  }

  TEST_CASE("results are visited by their places, so that a visit can put another one there") {
    const auto implementation =
        make_implementation(descriptor("f(Tensor x) -> (Tensor, int, Tensor[])", nothing), "test");
    const TensorRef a = floats({1}), b = floats({2}), other = floats({9});
    std::vector<Tensor*> list{b.get(), nullptr};
    tenon_value results[3] = {tensor_value(a.get()), integer(3), list_value(list)};
    std::vector<Tensor*> seen;
    for_each_result(*implementation, results, [&](Tensor*& place) {
      seen.push_back(place);
      if (place == b.get()) place = other.get();
    });
    CHECK(seen == std::vector<Tensor*>{a.get(), b.get(), nullptr});
    CHECK(list[0] == other.get());
  }
}
