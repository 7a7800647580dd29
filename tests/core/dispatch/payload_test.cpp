// Payloads of results by the rules of their types, in tables that the test makes, and none of them
// left behind.
#include "core/dispatch/types/conversion.hpp"
#include "tests/core/dispatch/plugin.hpp"
#include "tests/core/dispatch/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

int live = 0;  // payloads that were constructed and not destroyed

struct Note {
  int64_t number;
  Tensor* held;
};
Note& note_of(Payload& payload) { return *static_cast<Note*>(payload.data()); }

void destroy(void* payload) {
  --live;
  if (Tensor* held = static_cast<Note*>(payload)->held) held->release();
}
tenon_status copy_note(void*, const void* payload, void* copy, tenon_error**) {
  ++live;
  *static_cast<Note*>(copy) = *static_cast<const Note*>(payload);
  if (Tensor* held = static_cast<Note*>(copy)->held) held->retain();
  return TENON_OK;
}
// The sum of the operands' numbers, 100 of none.
tenon_status merge_notes(void*, tenon_tensor* const* operands, int64_t count, void* payload,
                         tenon_error**) {
  ++live;
  auto& made = *static_cast<Note*>(payload);
  made.number = count == 0 ? 100 : 0;
  for (int64_t i = 0; i < count; ++i) made.number += note_of(*operands[i]->payload()).number;
  return TENON_OK;
}
tenon_status fail(void*, tenon_tensor* const*, int64_t, void*, tenon_error** error) {
  *error = new tenon_error{Error(TENON_ERROR_VALUE, std::string("they do not go together"))};
  return TENON_ERROR_VALUE;
}
tenon_tensor** held_place(void* payload, int64_t) { return &static_cast<Note*>(payload)->held; }
const char* const kComponents[] = {"held"};

tenon_status nothing(void*, tenon_context*, const tenon_value*, tenon_value*, tenon_error**) {
  return TENON_OK;
}

// A subclass of Tensor, Noted, and one of it, Child, with this metadata.
struct World {
  explicit World(uint32_t metadata, bool can_copy = true, bool can_merge = true) {
    Plugin plugin{"p", {}, {}};
    tenon_type_descriptor& type = plugin.type("Noted", "Tensor");
    type.payload_size = sizeof(Note);
    type.metadata = metadata;
    type.destroy = destroy;
    if (can_copy) type.copy = copy_note;
    if (can_merge) type.merge = merge_notes;
    plugin.type("Child", "Noted");
    plugin.type("Bare", "Tensor");
    plugin.commit(table);
  }
  const TensorType& type(const char* name) const { return *table.find(name); }
  TensorRef noted(int64_t number, const char* name = "Noted") const {
    TensorRef tensor = floats({1});
    const PayloadRef payload(make_payload(type("Noted").id, sizeof(Note)));
    ++live;
    payload->destroy = destroy;
    note_of(*payload).number = number;
    set_type(*tensor, type(name).id, payload.get());
    return tensor;
  }
  TypeTable table;
};

// Results as a kernel leaves them, released at the end.
struct Results {
  explicit Results(const char* schema)
      : op(make_implementation(descriptor(schema, nothing), "p")) {}
  ~Results() {
    for (tenon_value& value : values) release_value(value);
  }
  Results(const Results&) = delete;
  Results& operator=(const Results&) = delete;
  void retype(const TensorType& type, std::initializer_list<Tensor*> operands) {
    std::vector<tenon_value> arguments;
    for (Tensor* operand : operands) arguments.push_back(tensor_value(operand));
    retype_results(type, *op, arguments.data(), values);
  }
  std::unique_ptr<Implementation> op;
  tenon_value values[kMaxResults] = {};
};

}  // namespace

TEST_SUITE("dispatch/payload") {
  TEST_CASE(
      "a new payload copies the first, is a default, or is merged from all, as the type says") {
    struct Row {
      uint32_t metadata;
      int64_t of_two, of_none;
    };
    const Row rows[] = {{TENON_METADATA_KEEP, 3, 100},
                        {TENON_METADATA_DROP, 100, 100},
                        {TENON_METADATA_MERGE, 7, 100}};
    for (const Row& row : rows) {
      CAPTURE(row.metadata);
      {
        const World world(row.metadata);
        const TensorRef a = world.noted(3), b = world.noted(4);
        Tensor* const operands[] = {a.get(), b.get()};
        const PayloadRef two = new_payload(world.type("Noted"), operands);
        const PayloadRef none = new_payload(world.type("Noted"), {});
        REQUIRE(two != nullptr);
        REQUIRE(none != nullptr);
        CHECK(note_of(*two).number == row.of_two);
        CHECK(note_of(*none).number == row.of_none);
        CHECK(two.get() != a->payload());
        CHECK(two->owner == world.type("Noted").id);
        CHECK(live == 4);
      }
      CHECK(live == 0);
    }
  }

  TEST_CASE("a type without the function that its rule needs makes no payload") {
    const World world(TENON_METADATA_KEEP, false, false);
    const TensorRef a = world.noted(3);
    Tensor* const operand = a.get();
    CHECK(new_payload(world.type("Noted"), {&operand, 1}) == nullptr);
    CHECK(new_payload(world.type("Noted"), {}) == nullptr);
    CHECK(live == 1);
  }

  TEST_CASE("a merge that fails gives its error, and no payload is destroyed that was not made") {
    TypeTable table;
    Plugin plugin{"p", {}, {}};
    tenon_type_descriptor& type = plugin.type("Failing", "Tensor");
    type.payload_size = sizeof(Note);
    type.metadata = TENON_METADATA_MERGE;
    type.merge = fail;
    type.destroy = destroy;
    plugin.commit(table);
    CHECK(refusal([&] { new_payload(*table.find("Failing"), {}); }, TENON_ERROR_VALUE) ==
          "they do not go together");
    CHECK(live == 0);
  }

  TEST_CASE(
      "operands with a payload are found in order, in lists too, those of subclasses with them") {
    const World world(TENON_METADATA_KEEP);
    const TensorRef plain = floats({1}), first = world.noted(1), second = world.noted(2, "Child");
    const auto op = make_implementation(
        descriptor("t.op(Tensor a, Tensor[] list, int n) -> Tensor", nothing), "p");
    Tensor* list[] = {plain.get(), first.get(), second.get()};
    tenon_value arguments[3] = {tensor_value(second.get()), {}, integer(1)};
    arguments[1].tag = TENON_VALUE_TENSOR_LIST;
    arguments[1].length = 3;
    arguments[1].as.tensors = list;
    CHECK(payload_operands(world.type("Noted"), *op, arguments) ==
          std::vector<Tensor*>{second.get(), first.get(), second.get()});
    CHECK(payload_operands(world.type("Bare"), *op, arguments).empty());
  }

  TEST_CASE("all results of a call share one payload, which is that of the first operand if kept") {
    const World world(TENON_METADATA_KEEP);
    const TensorRef x = world.noted(5);
    {
      Results results("t.two(Tensor x) -> (Tensor, int, Tensor)");
      results.values[0] = tensor_value(floats({1}).give());
      results.values[1] = integer(9);
      results.values[2] = tensor_value(floats({2}).give());
      results.retype(world.type("Child"), {x.get()});
      for (const size_t i : {size_t{0}, size_t{2}}) {
        CHECK(results.values[i].as.tensor->view.type == world.type("Child").id);
        CHECK(results.values[i].as.tensor->payload() == x->payload());
      }
      CHECK(results.values[1].as.integer == 9);
    }
    CHECK(live == 1);
    CHECK(x->payload()->references.load() == 1);
  }

  TEST_CASE("results of operands without a payload get a default, or none where there is none") {
    const TensorRef plain = floats({1});
    for (const bool can_merge : {true, false}) {
      const World world(TENON_METADATA_KEEP, true, can_merge);
      Results results("t.one(Tensor x) -> Tensor");
      results.values[0] = tensor_value(floats({1}).give());
      results.retype(world.type("Noted"), {plain.get()});
      Payload* const payload = results.values[0].as.tensor->payload();
      REQUIRE((payload != nullptr) == can_merge);
      if (payload != nullptr) CHECK(note_of(*payload).number == 100);
    }
    CHECK(live == 0);
  }

  TEST_CASE("a type without a payload changes the type alone") {
    const World world(TENON_METADATA_KEEP);
    const TensorRef x = world.noted(5);
    Results results("t.one(Tensor x) -> Tensor");
    results.values[0] = tensor_value(floats({1}).give());
    results.retype(world.type("Bare"), {x.get()});
    CHECK(results.values[0].as.tensor->view.type == world.type("Bare").id);
    CHECK(results.values[0].as.tensor->payload() == nullptr);
  }

  TEST_CASE("an operand that the op gives back stays what it is: the result is another handle") {
    const World world(TENON_METADATA_KEEP);
    const TensorRef plain = floats({1, 2});
    Results results("t.same(Tensor x) -> Tensor");
    results.values[0] = tensor_value(TensorRef(plain).give());
    results.retype(world.type("Noted"), {plain.get()});
    const Tensor& result = *results.values[0].as.tensor;
    CHECK(&result != plain.get());
    CHECK(result.view.data == plain->view.data);
    CHECK(result.view.type == world.type("Noted").id);
    CHECK(plain->view.type == 0);
  }

  TEST_CASE("an operand that the op has changed in place is given back as it is") {
    const World world(TENON_METADATA_KEEP);
    const TensorRef plain = floats({1, 2});
    Results results("t.change_(Tensor(a!) x) -> Tensor(a!)");
    results.values[0] = tensor_value(TensorRef(plain).give());
    results.retype(world.type("Noted"), {plain.get()});
    CHECK(results.values[0].as.tensor == plain.get());
    CHECK(plain->view.type == 0);
  }

  TEST_CASE(
      "an object of a type that keeps one tensor is made again with another one in its place") {
    {
      TypeTable table;
      Plugin plugin{"p", {}, {}};
      tenon_type_descriptor& type = plugin.type("Boxed");
      type.payload_size = sizeof(Note);
      type.destroy = destroy;
      type.copy = copy_note;
      type.components = kComponents;
      type.component_count = 1;
      type.component = held_place;
      plugin.commit(table);
      const TensorType& boxed = *table.find("Boxed");
      const TensorRef old = floats({1}), plain = floats({1, 2});
      const PayloadRef payload(make_payload(boxed.id, sizeof(Note)));
      ++live;
      payload->destroy = destroy;
      note_of(*payload).number = 6;
      note_of(*payload).held = TensorRef(old).give();
      const TensorRef object = make_dataless(TENON_F32, old->shape(), boxed.id);
      set_type(*object, boxed.id, payload.get());
      Tensor* const like = object.get();
      const TensorRef made = replace_component(boxed, *plain, {&like, 1});
      REQUIRE(made->payload() != nullptr);
      CHECK(note_of(*made->payload()).number == 6);
      CHECK(note_of(*made->payload()).held == plain.get());
      CHECK(note_of(*payload).held == old.get());
      CHECK(made->view.count == 2);
      CHECK(made->view.type == boxed.id);
      CHECK(old->references.load() == 2);
      CHECK(plain->references.load() == 2);
      CHECK(has(refusal([&] { replace_component(boxed, *plain, {}); }, TENON_ERROR_TYPE),
                "a payload of Boxed cannot be made from another; give the type a copy"));
    }
    CHECK(live == 0);
  }
}
