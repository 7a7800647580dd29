// Parts of objects, and payloads made from parts.
//
// Types are of the process's table, which tensors' ids refer to, and stay: each test has its own.

#include <functional>

#include "core/dispatch/types/conversion.hpp"
#include "core/dispatch/types/type_table.hpp"
#include "tests/core/dispatch/plugin.hpp"
#include "tests/core/dispatch/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

using Floats = std::vector<float>;

// Two tensors, and a number that is in neither.
struct Pair {
  Tensor* tensors[2];
  int64_t number;
};
Pair& pair_of(const void* payload) { return *static_cast<Pair*>(const_cast<void*>(payload)); }
void destroy(void* payload) {
  for (Tensor* tensor : pair_of(payload).tensors) {
    if (tensor != nullptr) tensor->release();
  }
}
tenon_tensor** place(void* payload, int64_t index) { return &pair_of(payload).tensors[index]; }
tenon_status make_empty_pair(void*, tenon_tensor* const*, int64_t, void* payload, tenon_error**) {
  return payload == nullptr ? TENON_ERROR_ARGUMENT : TENON_OK;  // it is zeroed
}
tenon_status write_number(void*, const void* payload, tenon_value* text, tenon_error**) {
  *text = make_string(std::to_string(pair_of(payload).number));
  return TENON_OK;
}
tenon_status read_number(void*, const char* text, int64_t length, void* payload,
                         tenon_error** error) {
  return guarded(error, [&] {
    const std::string digits(text, static_cast<size_t>(length));
    if (digits.empty() || digits.find_first_not_of("0123456789") != digits.npos)
      throw Error(TENON_ERROR_VALUE, "'{}' is not a number", digits);
    pair_of(payload) = Pair{};
    pair_of(payload).number = std::stoll(digits);
  });
}
const char* const kNames[] = {"left", "right"};

enum class Attributes { none, both };

// A tensor-like with two components, the number kept by attributes or not at all.
const TensorType& add_type(const char* name, Attributes attributes, const char* parent = nullptr,
                           int64_t size = sizeof(Pair)) {
  Plugin plugin{"stored", {}, {}};
  tenon_type_descriptor& type = plugin.type(name, parent);
  type.payload_size = size;
  type.metadata = TENON_METADATA_MERGE;
  type.merge = make_empty_pair;
  type.destroy = destroy;
  type.components = kNames;
  type.component_count = 2;
  type.component = place;
  if (attributes == Attributes::both) {
    type.attributes = write_number;
    type.restore = read_number;
  }
  plugin.commit(TypeTable::process());
  return *TypeTable::process().find(name);
}
TensorRef pair(const TensorType& type, TensorRef left, TensorRef right, int64_t number = 0) {
  const int64_t shape[] = {2, 3};
  TensorRef made = make_dataless(TENON_F64, shape, type.id);
  const PayloadRef payload(make_payload(type.id, sizeof(Pair)));
  payload->destroy = destroy;
  pair_of(payload->data()) = Pair{{left.give(), right.give()}, number};
  set_type(*made, type.id, payload.get());
  return made;
}
const Pair& pair_in(const Tensor& tensor) { return pair_of(tensor.payload()->data()); }

}  // namespace

TEST_SUITE("dispatch/components") {
  TEST_CASE("parts say what the objects of a type are made of") {
    const auto flags = [](const TensorType& type) { return parts_of(type.id).flags; };
    CHECK(flags(add_type("PartsLossy", Attributes::none)) == TENON_PARTS_PAYLOAD);
    const TensorType& described = add_type("PartsDescribed", Attributes::both);
    CHECK(flags(described) == (TENON_PARTS_PAYLOAD | TENON_PARTS_WRITES | TENON_PARTS_READS));
    CHECK(flags(add_type("PartsWhole", Attributes::none, nullptr, sizeof(Pair::tensors))) ==
          (TENON_PARTS_PAYLOAD | TENON_PARTS_COMPLETE));
    CHECK(flags(add_type("PartsChild", Attributes::none, "Tensor")) ==
          (TENON_PARTS_PAYLOAD | TENON_PARTS_DATA));
    const tenon_type_parts parts = parts_of(described.id);
    CHECK(parts.provider == std::string("stored"));
    REQUIRE(parts.component_count == 2);
    CHECK(parts.components[1] == std::string("right"));
    const tenon_type_parts plain = parts_of(0);
    CHECK(plain.flags == TENON_PARTS_DATA);
    CHECK(plain.provider == std::string("tenon"));
    CHECK(plain.component_count == 0);
    refusal([] { parts_of(1'000'000); }, TENON_ERROR_VALUE);
  }

  TEST_CASE("attributes are a text of the payload, none where the type makes none") {
    tenon_value text =
        attributes_of(*pair(add_type("TextNumber", Attributes::both), floats({1}), {}, 42));
    CHECK(std::string(text.as.string, text.length) == "42");
    release_value(text);
    CHECK(attributes_of(*floats({1})).tag == TENON_VALUE_NONE);
    CHECK(attributes_of(*pair(add_type("TextNone", Attributes::none), floats({1}), {})).tag ==
          TENON_VALUE_NONE);
  }

  TEST_CASE("a payload of other attributes takes the components of the object") {
    const TensorRef x = pair(add_type("OtherNumber", Attributes::both), floats({1}), {}, 42);
    const PayloadRef other = payload_with_attributes(*x, "43");
    CHECK(pair_of(other->data()).number == 43);
    CHECK(pair_of(other->data()).tensors[0] == pair_in(*x).tensors[0]);
    CHECK(pair_of(other->data()).tensors[1] == nullptr);
  }

  TEST_CASE("a payload is composed from attributes and named components") {
    const TensorType& type = add_type("ComposedNumber", Attributes::both);
    const TensorRef right = floats({2, 3});
    Tensor* const components[] = {right.get()};
    const tenon_string names[] = {{"right", 5}};
    const PayloadRef made = compose_payload(type, "7", names, components);
    CHECK(pair_of(made->data()).number == 7);
    CHECK(pair_of(made->data()).tensors[0] == nullptr);
    CHECK(pair_of(made->data()).tensors[1] == right.get());
    CHECK(compose_payload(TypeTable::process().at(0), {}, {}, {}) == nullptr);
  }

  TEST_CASE("parts that are not those of the type are refused with its name") {
    const TensorType& described = add_type("WrongDescribed", Attributes::both);
    const TensorType& lossy = add_type("WrongLossy", Attributes::none);
    const TensorType& whole =
        add_type("WrongWhole", Attributes::none, nullptr, sizeof(Pair::tensors));
    const TensorRef left = floats({1});
    Tensor* const components[] = {left.get()};
    const tenon_string names[] = {{"middle", 6}};
    const auto fault = [&](const TensorType& type, std::optional<std::string_view> attributes,
                           size_t count) {
      const std::span<const tenon_string> all(names, count);
      return refusal(
          [&] {
            compose_payload(type, attributes, all, {components, count});
          },
          TENON_ERROR_VALUE);
    };
    CHECK(has(fault(described, {}, 0), "a WrongDescribed is not made of components alone"));
    CHECK(has(fault(lossy, {}, 0), "a WrongLossy is not made of components alone"));
    CHECK(has(fault(whole, "7", 0), "a WrongWhole is not made of attributes"));
    CHECK(has(fault(whole, {}, 1), "type WrongWhole has no component 'middle'"));
    CHECK(has(fault(TypeTable::process().at(0), {}, 1), "a Tensor is not made of a payload"));
    CHECK(has(fault(described, "seven", 0), "'seven' is not a number"));
    CHECK(left->references == 1);
  }
}
