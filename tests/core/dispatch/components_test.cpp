// Typed tensors in files, and read back.
//
// Types are of the process's table, which tensors' ids refer to, and stay: each test has its own.
#include "core/dispatch/types/components.hpp"

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
  pair_of(payload) = Pair{};
  return TENON_OK;
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

std::vector<std::string> names(const std::vector<NamedTensor>& tensors) {
  std::vector<std::string> list;
  for (const NamedTensor& one : tensors) list.push_back(one.name);
  return list;
}
using Names = std::vector<std::string>;

// The tensors of a state once its objects are made again.
std::vector<NamedTensor> restored(const StoredTensors& stored) {
  JsonBuilder metadata;
  metadata.begin_object();
  for (const auto& [key, text] : stored.metadata) metadata.member(key, text);
  metadata.end_object();
  std::vector<NamedTensor> tensors = stored.tensors;
  restore_types(tensors, *metadata.finish(), "x.safetensors");
  return tensors;
}
// The metadata's text under the key; "" where there is none.
std::string said(const StoredTensors& stored, const std::string& key) {
  for (const auto& [name, text] : stored.metadata) {
    if (name == key) return text;
  }
  return "";
}
// The fault of an object that was stored whole, after a change of its file.
std::string fault(const TensorType& type, const std::function<void(StoredTensors&)>& change) {
  StoredTensors stored;
  stored.add("x", pair(type, floats({1}), floats({2}), 7), true);
  change(stored);
  return refusal([&] { restored(stored); }, TENON_ERROR_VALUE);
}

}  // namespace

TEST_SUITE("dispatch/components") {
  TEST_CASE("a plain tensor is stored under its name, an object as its components") {
    const TensorType& type = add_type("StoredPair", Attributes::none);
    StoredTensors stored;
    stored.add("plain", floats({1}));
    stored.add("x", pair(type, floats({2}), floats({3})));
    CHECK(names(stored.tensors) == Names{"plain", "x.left", "x.right"});
    CHECK(said(stored, "tensor type of x") == "StoredPair");
    CHECK(said(stored, "tensor type of plain").empty());
    CHECK(stored.described.empty());
  }

  TEST_CASE("components that are objects are stored as theirs, and missing ones not at all") {
    const TensorType& type = add_type("StoredTree", Attributes::none);
    StoredTensors stored;
    stored.add("x", pair(type, pair(type, floats({1}), TensorRef()), floats({2})));
    CHECK(names(stored.tensors) == Names{"x.left.left", "x.right"});
    CHECK(said(stored, "tensor type of x.left") == "StoredTree");
  }

  TEST_CASE("attributes are kept for a module that has the object, which takes its components") {
    const TensorType& type = add_type("StoredNumber", Attributes::both);
    const TensorRef x = pair(type, floats({1}), TensorRef(), 42);
    StoredTensors stored;
    stored.add("x", x);
    CHECK(said(stored, "attributes of x") == "42");
    CHECK(names(stored.described) == Names{"x"});
    const PayloadRef other = payload_with_attributes(*x, "43");
    CHECK(pair_of(other->data()).number == 43);
    CHECK(pair_of(other->data()).tensors[0] == pair_in(*x).tensors[0]);
    CHECK(pair_of(other->data()).tensors[1] == nullptr);
  }

  TEST_CASE("an object without components or whose payload would be lost is refused by name") {
    Plugin plugin{"stored", {}, {}};
    plugin.type("StoredNone");
    plugin.commit(TypeTable::process());
    const int64_t shape[] = {1};
    const TensorRef none =
        make_dataless(TENON_F32, shape, TypeTable::process().find("StoredNone")->id);
    StoredTensors stored;
    CHECK(has(refusal([&] { stored.add("x", none); }, TENON_ERROR_TYPE),
              "'x' is a StoredNone, which has no component tensors to save"));
    const TensorRef lossy =
        pair(add_type("StoredLossy", Attributes::none), floats({1}), TensorRef());
    CHECK(has(refusal([&] { stored.add("y", lossy, true); }, TENON_ERROR_TYPE),
              "'y' is a StoredLossy (plugin 'stored'), whose payload has members"));
    CHECK(stored.tensors.empty());
  }

  TEST_CASE("an object that was stored whole is made again, with objects in it") {
    const TensorType& type = add_type("StoredWhole", Attributes::both);
    StoredTensors stored;
    stored.add("plain", floats({9}));
    stored.add("x", pair(type, pair(type, floats({1}), TensorRef(), 5), floats({2, 3}), 7), true);
    const std::vector<NamedTensor> tensors = restored(stored);
    REQUIRE(names(tensors) == Names{"plain", "x"});
    const Tensor& x = *tensors[1].tensor;
    CHECK(x.view.type == type.id);
    CHECK(x.view.dtype == TENON_F64);
    REQUIRE(x.view.rank == 2);
    CHECK(x.view.shape[1] == 3);
    CHECK(pair_in(x).number == 7);
    CHECK(read(*pair_in(x).tensors[1]) == Floats{2, 3});
    const Tensor& inner = *pair_in(x).tensors[0];
    CHECK(inner.view.type == type.id);
    CHECK(pair_in(inner).number == 5);
    CHECK(pair_in(inner).tensors[1] == nullptr);
  }

  TEST_CASE("a file that says something else than its type is refused with file and tensor") {
    const TensorType& type = add_type("StoredFault", Attributes::both);
    const auto rewritten = [&](const std::string& from, const std::string& to) {
      return fault(type, [&](StoredTensors& stored) {
        for (auto& [key, text] : stored.metadata) {
          const size_t at = text.find(from);
          if (at != text.npos) text.replace(at, from.size(), to);
        }
      });
    };
    const std::string unreadable = rewritten("{\"plugin\"", "{plugin");
    CHECK(has(unreadable, "cannot restore tensor 'x' of 'x.safetensors'"));
    CHECK(has(unreadable, "metadata cannot be read"));
    CHECK(has(rewritten("\"left\"", "\"middle\""), "has no component 'middle'"));
    CHECK(has(rewritten("\"left\"", "3"), "a component's name is not a string"));
    CHECK(has(rewritten("\"f64\"", "\"f65\""), "its dtype is not known"));
    CHECK(has(rewritten("[2,3]", "[2,-3]"), "its shape is not a list of sizes"));
    CHECK(has(rewritten("\"attributes\"", "\"other\""), "do not agree on the attributes"));
    CHECK(has(rewritten("\"7\"", "\"seven\""), "'seven' is not a number"));
    CHECK(has(
        fault(type, [](StoredTensors& stored) { stored.tensors.erase(stored.tensors.begin()); }),
        "the file holds no tensor 'x.left'"));
  }

  TEST_CASE("a type that is not there is named with its plugin and how to get it") {
    const TensorType& type = add_type("StoredGone", Attributes::both);
    const std::string text = fault(type, [](StoredTensors& stored) {
      for (auto& [key, value] : stored.metadata) {
        if (value == "StoredGone") value = "StoredElsewhere";
      }
    });
    CHECK(has(text, "it is of type 'StoredElsewhere' of plugin 'stored', which is not available"));
    CHECK(has(text, "install that plugin"));
  }
}
