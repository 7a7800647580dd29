// Tensor types and their objects as plugins make them. The ids are of the process's table.
#include "core/dispatch/types/type_table.hpp"
#include "tests/core/dispatch/plugin.hpp"
#include "tests/core/runtime/slot_support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

const Services& slots() { return host_services(); }

struct Note {
  int64_t number;
};
int live = 0;
void destroy(void*) { --live; }
tenon_status make_note(void*, tenon_tensor* const*, int64_t, void* payload, tenon_error**) {
  ++live;
  static_cast<Note*>(payload)->number = 100;
  return TENON_OK;
}

// A subclass of Tensor with a default payload, one of it, one whose payload has no default, one
// without a payload, and a tensor-like.
const TypeTable& types() {
  static const TypeTable& table = []() -> const TypeTable& {
    Plugin plugin{"type_slots", {}, {}};
    tenon_type_descriptor& noted = plugin.type("SlotNoted", "Tensor");
    noted.payload_size = sizeof(Note);
    noted.metadata = TENON_METADATA_MERGE;
    noted.merge = make_note;
    noted.destroy = destroy;
    plugin.type("SlotChild", "SlotNoted");
    tenon_type_descriptor& told = plugin.type("SlotTold", "Tensor");
    told.payload_size = sizeof(Note);
    told.metadata = TENON_METADATA_DROP;
    told.destroy = destroy;
    plugin.type("SlotBare", "Tensor");
    plugin.type("SlotLike").payload_size = sizeof(Note);
    plugin.types.back().destroy = destroy;
    plugin.commit(TypeTable::process());
    return TypeTable::process();
  }();
  return table;
}
uint32_t id(const char* name) { return types().find(name)->id; }

TensorRef wrapped(const char* name, Tensor* tensor, void** payload = nullptr) {
  tenon_tensor* made = nullptr;
  CHECK(message_of_slot(TENON_OK, [&](tenon_error** error) {
          return slots().types.wrap(id(name), tensor, payload, &made, error);
        }) == "");
  return TensorRef::take(made);
}
int64_t number_of(const Tensor& tensor) {
  return static_cast<const Note*>(slots().types.payload(&tensor))->number;
}

}  // namespace

TEST_SUITE("runtime/type_slots") {
  TEST_CASE("parts fill as much as the caller has, and a struct without its size is refused") {
    struct {
      tenon_type_parts parts;
      uint64_t behind;
    } newer{};
    newer.behind = 7;
    newer.parts.size = sizeof newer;
    CHECK(message_of_slot(TENON_OK, [&](tenon_error** error) {
            return slots().types.parts(id("SlotNoted"), &newer.parts, error);
          }) == "");
    CHECK(newer.parts.size == sizeof newer.parts);
    CHECK(newer.parts.flags == (TENON_PARTS_DATA | TENON_PARTS_PAYLOAD));
    CHECK(newer.parts.provider == std::string("type_slots"));
    CHECK(newer.behind == 7);
    tenon_type_parts none{};
    CHECK(message_of_slot(TENON_ERROR_ARGUMENT, [&](tenon_error** error) {
            return slots().types.parts(0, &none, error);
          }) == "a tenon_type_parts of 0 bytes has no room; set `size` to its sizeof");
    CHECK(none.provider == nullptr);
  }

  TEST_CASE("types are known by id and name, and unknown ids are of no type") {
    CHECK(std::string(slots().types.name(id("SlotChild"))) == "SlotChild");
    CHECK(std::string(slots().types.name(UINT32_MAX)).empty());
    CHECK(slots().types.is(id("SlotChild"), id("SlotNoted")) == 1);
    CHECK(slots().types.is(id("SlotChild"), 0) == 1);
    CHECK(slots().types.is(id("SlotNoted"), id("SlotChild")) == 0);
    CHECK(slots().types.is(id("SlotLike"), 0) == 0);
    CHECK(slots().types.is(UINT32_MAX, 0) == 0);
    CHECK(slots().types.is(0, UINT32_MAX) == 0);
    uint32_t found = 7;
    CHECK(message_of_slot(TENON_ERROR_ARGUMENT, [&](tenon_error** error) {
            return slots().types.find(nullptr, &found, error);
          }) == "the name of the type is null");
    CHECK(found == 7);
  }

  TEST_CASE("a subclass of Tensor wraps a tensor, a tensor-like is created: not the reverse") {
    const TensorRef plain = floats({1, 2});
    tenon_tensor* made = nullptr;
    const int64_t shape[] = {2};
    void* payload = nullptr;
    CHECK(message_of_slot(TENON_ERROR_TYPE, [&](tenon_error** error) {
            return slots().types.create(id("SlotNoted"), TENON_F32, 1, shape, &payload, &made,
                                        error);
          }) == "SlotNoted derives from Tensor, which has data; wrap a tensor instead");
    for (const uint32_t type : {uint32_t{0}, id("SlotLike")}) {
      CHECK(has(message_of_slot(TENON_ERROR_TYPE,
                                [&](tenon_error** error) {
                                  return slots().types.wrap(type, plain.get(), &payload, &made,
                                                            error);
                                }),
                "does not derive from Tensor and cannot share a tensor's data"));
    }
    CHECK(made == nullptr);
    CHECK(message_of_slot(TENON_ERROR_ARGUMENT, [&](tenon_error** error) {
            return slots().types.create(id("SlotLike"), TENON_F32, 1, nullptr, &payload, &made,
                                        error);
          }) == "the shape is null");
  }

  TEST_CASE("the caller constructs the payload in its place, and it is destroyed with the object") {
    live = 0;
    {
      const TensorRef plain = floats({1, 2});
      void* place = nullptr;
      const TensorRef object = wrapped("SlotNoted", plain.get(), &place);
      REQUIRE(place != nullptr);
      ++live;
      static_cast<Note*>(place)->number = 5;
      CHECK(slots().types.payload(object.get()) == place);
      CHECK(object->view.data == plain->view.data);
      const int64_t shape[] = {3};
      tenon_tensor* like = nullptr;
      REQUIRE(slots().types.create(id("SlotLike"), TENON_F32, 1, shape, &place, &like, nullptr) ==
              TENON_OK);
      ++live;
      const TensorRef owner = TensorRef::take(like);
      CHECK(like->has_flag(TENON_TENSOR_SHAPE_ONLY));
      CHECK(live == 2);
    }
    CHECK(live == 0);
    CHECK(slots().types.payload(nullptr) == nullptr);
    CHECK(slots().types.payload(floats({1}).get()) == nullptr);
  }

  TEST_CASE("without a place the payload is that of the tensor, or a default one, or refused") {
    live = 0;
    {
      const TensorRef plain = floats({1, 2});
      const TensorRef first = wrapped("SlotNoted", plain.get());
      CHECK(number_of(*first) == 100);
      static_cast<Note*>(slots().types.payload(first.get()))->number = 6;
      const TensorRef child = wrapped("SlotChild", first.get());
      CHECK(slots().types.payload(child.get()) == slots().types.payload(first.get()));
      CHECK(live == 1);
      tenon_tensor* made = nullptr;
      CHECK(has(message_of_slot(TENON_ERROR_TYPE,
                                [&](tenon_error** error) {
                                  return slots().types.wrap(id("SlotTold"), plain.get(), nullptr,
                                                            &made, error);
                                }),
                "SlotTold has the payload of SlotTold, which cannot be made from nothing"));
      CHECK(made == nullptr);
    }
    CHECK(live == 0);
  }

  TEST_CASE("a plain tensor has neither components nor attributes") {
    const TensorRef plain = floats({1});
    tenon_tensor* component = nullptr;
    CHECK(message_of_slot(TENON_ERROR_INDEX, [&](tenon_error** error) {
            return slots().types.component(plain.get(), "data", 4, &component, error);
          }) == "a Tensor has no component 'data'");
    CHECK(message_of_slot(TENON_ERROR_TYPE, [&](tenon_error** error) {
            return slots().types.set_attributes(plain.get(), "x", 1, error);
          }) == "a Tensor has no attributes");
    Given text;
    CHECK(slots().types.attributes(plain.get(), &text.value, nullptr) == TENON_OK);
    CHECK(text.value.tag == TENON_VALUE_NONE);
  }

  TEST_CASE("a subclass is composed around its data, which it needs") {
    const TensorRef plain = floats({1, 2});
    tenon_tensor* made = nullptr;
    const auto compose = [&](tenon_tensor* data, tenon_error** error) {
      return slots().types.compose(id("SlotBare"), data, TENON_DTYPE_NONE, 0, nullptr, nullptr,
                                   nullptr, nullptr, 0, &made, error);
    };
    REQUIRE(message_of_slot(
                TENON_OK, [&](tenon_error** error) { return compose(plain.get(), error); }) == "");
    const TensorRef object = TensorRef::take(made);
    CHECK(object->view.type == id("SlotBare"));
    CHECK(object->view.data == plain->view.data);
    CHECK(has(message_of_slot(TENON_ERROR_ARGUMENT,
                              [&](tenon_error** error) { return compose(nullptr, error); }),
              "the data of the object"));
  }

  TEST_CASE("a plain tensor is its own plain form, a subclass shares its data with it") {
    const TensorRef plain = floats({1, 2});
    tenon_tensor* made = nullptr;
    REQUIRE(slots().types.to_plain(plain.get(), &made, nullptr) == TENON_OK);
    CHECK(TensorRef::take(made).get() == plain.get());
    const TensorRef object = wrapped("SlotNoted", plain.get());
    REQUIRE(slots().types.to_plain(object.get(), &made, nullptr) == TENON_OK);
    const TensorRef back = TensorRef::take(made);
    CHECK_FALSE(back->typed());
    CHECK(back->view.data == plain->view.data);
    CHECK(message_of_slot(TENON_ERROR_ARGUMENT, [&](tenon_error** error) {
            return slots().types.to_plain(nullptr, &made, error);
          }) == "the tensor is null");
  }
}
