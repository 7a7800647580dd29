// Types, overrides and handlers that are wrong: what is refused leaves nothing behind, and later
// calls work as before.
#include <functional>
#include <map>

#include <tenon/listing/listing.hpp>
#include <tenon/mode.hpp>

#include "tests/sdk/functions.hpp"

using namespace functions;

namespace {

Tensor scalar_tensor(int64_t n, double value) { return tx("scalar").call<Tensor>(n, value); }

// Plain and typed calls give what they gave before.
void check_table_answers() {
  CHECK(neg(row({1})).item() == -1);
  CHECK(text_of(Op("add")(scalar_tensor(2, 1), scalar_tensor(2, 2))) ==
        "ScalarTensor(N=2, value=3)");
  CHECK(refusal([] { Op("mul")(scalar_tensor(2, 1), 3); }).kind == TENON_ERROR_TYPE);
}
bool knows_type(const std::string& name) {
  uint32_t id = 0;
  return refusal([&] { detail::check(service::types().find, name.c_str(), &id); }).kind == TENON_OK;
}

struct BadPlugin {
  const char* name;
  std::vector<std::string> texts;  // texts of the refusal
};
const BadPlugin bad_plugins[] = {
    {"type_twice", {"type type_twice_good for a second time"}},
    {"parent_unknown", {"'Orphan'", "no type is named 'ScalarTenso'", "'ScalarTensor'"}},
    {"parent_itself", {"'Ouroboros'", "without cycles"}},
    {"parents_cyclic", {"'Hen'", "'Egg'", "without cycles"}},
    {"payload_negative", {"'Debt'", "payload_size is"}},
    {"merge_missing", {"'Unmerged'", "has no merge"}},
    {"override_twice", {"override neg[override_twice_good] for a second time"}},
    {"override_op", {"no op is named 'sigmod'", "'sigmoid'"}},
    {"override_type", {"'abs'", "no tensor type is named 'ScalarTenso'", "'ScalarTensor'"}},
    {"override_tensor", {"'abs'", "no tensor type other than Tensor"}},
    {"override_extra", {"'third'", "has no default", "mm(input, mat2, third)"}},
    {"override_missing", {"does not take 'mat2'", "mm(input)"}},
    {"override_schema", {"schema error"}},
    {"override_ignored", {"'randperm'", "cannot be overridden", "tenon ignored"}},
    {"payload_smaller", {"'Shrunk'", "does not begin with that of Tagged", "derive"}},
};

Op handlers(const std::string& name) {
  static const bool loaded = (load_plugin(TENON_FIXTURES "/handlers.so"), true);
  (void)loaded;
  return Op("handlers." + name);
}

// A mode of plain C, that fills results and status as it likes.
class RawMode {
 public:
  using Handler = std::function<tenon_status(tenon_value* results, tenon_error** error)>;
  explicit RawMode(Handler handler) : handler_(std::move(handler)) {
    detail::check(service::modes().enter, "raw", &RawMode::ask, static_cast<void*>(this), 0,
                  &mode_);
  }
  ~RawMode() { service::modes().leave(mode_, nullptr); }
  RawMode(const RawMode&) = delete;
  RawMode& operator=(const RawMode&) = delete;

 private:
  static tenon_status ask(void* self, const tenon_call*, tenon_value* results,
                          tenon_error** error) {
    return static_cast<RawMode*>(self)->handler_(results, error);
  }
  Handler handler_;
  tenon_mode* mode_ = nullptr;
};

}  // namespace

TEST_SUITE("sdk/bad_types") {
  TEST_CASE("a plugin whose types or overrides are refused leaves nothing behind") {
    check_table_answers();
    for (const BadPlugin& bad : bad_plugins) {
      CAPTURE(bad.name);
      const std::string name = bad.name;
      const std::string before = listing::type("ScalarTensor").dump();
      for (int attempt = 0; attempt < 2; ++attempt) {
        const Refusal refused =
            refusal([&] { load_plugin(TENON_FIXTURES "/bad_types/" + name + ".so"); });
        CHECK(refused.kind == TENON_ERROR_PLUGIN);
        for (const std::string& text : bad.texts) CHECK(has(refused.text, text));
      }
      CHECK_FALSE(knows_type(name + "_good"));
      CHECK(refusal([&] { Op(name + ".op"); }).kind != TENON_OK);
      CHECK(listing::type("ScalarTensor").dump() == before);
      check_table_answers();
    }
  }

  TEST_CASE("a type that another plugin has registered stays what it is") {
    const Tensor before = scalar_tensor(2, 1);
    const Refusal refused = refusal([] { load_plugin(TENON_FIXTURES "/bad_types/type_taken.so"); });
    CHECK(refused.kind == TENON_ERROR_PLUGIN);
    for (const char* text : {"ScalarTensor", "'types'", "'type_taken'"})
      CHECK(has(refused.text, text));
    check_table_answers();
    // A type without conflict can be used, and decides nothing.
    CHECK(knows_type("type_taken_good"));
    CHECK(text_of(Op("add")(before, scalar_tensor(2, 2))) == "ScalarTensor(N=2, value=3)");
    CHECK(refusal([] { load_plugin(TENON_FIXTURES "/bad_types/type_taken.so"); }).kind != TENON_OK);
    check_table_answers();
  }

  TEST_CASE("a handler that throws or returns nonsense is refused, and the type still works") {
    const Tensor x = handlers("unruly").call<Tensor>(row({1, 4}));
    const auto refused = [&](const char* op) {
      const Op called(op);
      const Refusal result = refusal([&] { called(x); });
      CHECK(result.op == op);
      CHECK(result.provider == "handlers");
      CHECK(numbers(sum(ensure_tensor(x))) == Numbers{5});
      return result;
    };
    CHECK(refused("neg").kind == TENON_ERROR_RUNTIME);
    CHECK(has(refused("neg").text, "a standard exception of a handler"));
    CHECK(refused("abs").kind == TENON_ERROR_RUNTIME);
    CHECK(refused("exp").kind == TENON_ERROR_TYPE);
    CHECK(has(refused("exp").text, "handler of Unruly for exp returned an invalid value"));
    CHECK(refused("sqrt").kind == TENON_ERROR_TYPE);
    CHECK(type_name(Op("sin").call<Tensor>(x)) == "Unruly");
  }

  TEST_CASE("an id that no type has is answered") {
    for (const uint32_t id : {70000u, 4000000000u}) {
      CHECK(service::types().dispatches(id) == 0);
      CHECK(service::types().is(id, id) == 0);
      CHECK(std::string(service::types().name(id)).empty());
    }
  }

  TEST_CASE("results that a handler leaves out are None; it cannot decline half of them") {
    const Tensor x = handlers("unruly").call<Tensor>(row({1, 4}));
    const Op max_op("max"), min_op("min");
    const auto [values, indices] = max_op.call<std::tuple<Value, Value>>(x, 0);
    CHECK(text_of(values) == "7");
    CHECK(text_of(indices) == "None");
    CHECK(refusal([&] { min_op.call<std::tuple<Value, Value>>(x, 0); }).kind == TENON_ERROR_TYPE);
  }

  TEST_CASE("handlers that call each other's ops with their own operand are stopped") {
    const Tensor x = handlers("chasing").call<Tensor>(row({1}));
    const Refusal refused = refusal([&] { Op("sin")(x); });
    CHECK(refused.kind == TENON_ERROR_RUNTIME);
    CHECK(has(refused.text,
              "handler of Chasing for sin -> handler of Chasing for cos -> handler of Chasing for "
              "sin"));
    CHECK(type_name(Op("neg").call<Tensor>(x)) == "Chasing");
  }

  TEST_CASE("an operand that a handler keeps outlives the call") {
    {
      const Tensor x = handlers("unruly").call<Tensor>(row({3}));
      Op("tanh")(x);
    }
    const Tensor kept = handlers("take_kept").call<Tensor>();
    CHECK(type_name(kept) == "Unruly");
    CHECK(ensure_tensor(kept).item() == 3);
  }

  TEST_CASE("a mode of plain C that fails without words or answers nonsense is refused") {
    const Op neg_op("neg");
    const Tensor x = row({1});
    {
      const RawMode mode([](tenon_value*, tenon_error**) { return TENON_ERROR_VALUE; });
      CHECK(refusal([&] { neg_op(x); }).kind == TENON_ERROR_VALUE);
    }
    {
      const RawMode mode([](tenon_value*, tenon_error**) { return tenon_status{12345}; });
      CHECK(refusal([&] { neg_op(x); }).kind != TENON_OK);
    }
    {
      const RawMode mode([](tenon_value* results, tenon_error**) {
        results[0].tag = TENON_VALUE_TENSOR;
        return TENON_OK;
      });
      CHECK(
          has(refusal([&] { neg_op(x); }).text, "the handler of a mode returned an invalid value"));
    }
    for (uint32_t tag = TENON_VALUE_STRING; tag < TENON_VALUE_TAG_COUNT; ++tag) {
      if (tag == TENON_VALUE_NOT_IMPLEMENTED) continue;
      CAPTURE(tag);
      const RawMode mode([tag](tenon_value* results, tenon_error**) {
        results[0].tag = tag;
        results[0].length = 3;
        return TENON_OK;
      });
      CHECK(refusal([&] { neg_op(x); }).kind == TENON_ERROR_TYPE);
    }
    {  // values that were filled in are released before the refusal
      const RawMode mode([](tenon_value* results, tenon_error** error) {
        detail::give_result(std::string("half an answer"), results);
        detail::set_error(error, TENON_ERROR_INDEX, "mine");
        return TENON_ERROR_INDEX;
      });
      const Refusal refused = refusal([&] { neg_op(x); });
      CHECK(refused.kind == TENON_ERROR_INDEX);
      CHECK(refused.text == "mine");
    }
    check_table_answers();
  }

  TEST_CASE("an exception inside nested modes leaves them active, and their order intact") {
    class Denying : public Mode {
     public:
      Denying() : Mode("denying") {}
      Results tenon_function(const Call& call) override {
        if (call.name() == "neg") throw ValueError("not here");
        return call.call_parent();
      }
    };
    CountMode outer, inner;
    Denying denying;
    const Tensor x = row({1});
    {
      ModeScope a(outer);
      {
        ModeScope b(denying);
        ModeScope c(inner);
        CHECK(refusal([&] { neg(abs(x)); }).kind == TENON_ERROR_VALUE);
        CHECK(refusal([&] { neg(x); }).kind == TENON_ERROR_VALUE);
        abs(x);
        CHECK(refusal([&] { c.leave(); }).kind == TENON_OK);
        abs(x);
      }
      abs(x);
      CHECK(refusal([&] { a.leave(); }).kind == TENON_OK);
    }
    abs(x);
    using Counts = std::map<std::string, int64_t>;
    CHECK(inner.calls() == Counts{{"abs", 2}, {"neg", 2}});
    CHECK(outer.calls() == Counts{{"abs", 4}});
    check_table_answers();
  }

  TEST_CASE("objects of types live to the end of the process and go with its statics") {
    // Their plugins stay mapped: destructors of payloads run after main.
    static std::vector<Tensor> kept;
    kept.push_back(scalar_tensor(2, 1));
    kept.push_back(
        tx("make").call<Tensor>("Tagged", row({1}), "a text that is long enough to own"));
    kept.push_back(tx("make").call<Tensor>("Meta", row({1}), "a text that is long enough to own"));
    CHECK(kept.size() == 3);
  }

  TEST_CASE("objects are refused whose type, shape, dtype or payload cannot be") {
    const Tensor child = tx("make").call<Tensor>("S2", row({1}));
    const uint32_t scalar_type = scalar_tensor(2, 1).view_record().type;
    const uint32_t child_type = child.view_record().type;
    constexpr uint32_t nothing = 1u << 30;
    const int64_t shape[] = {2, 2}, negative[] = {2, -1};
    void* payload = nullptr;
    const auto created = [&](uint32_t type, tenon_dtype dtype, int64_t rank, const int64_t* sizes,
                             void** place) {
      tenon_tensor* result = nullptr;
      const Refusal refused = refusal([&] {
        detail::check(service::types().create, type, dtype, rank, sizes, place, &result);
      });
      CHECK(result == nullptr);
      return refused.kind;
    };
    CHECK(created(nothing, TENON_F32, 2, shape, &payload) == TENON_ERROR_VALUE);
    CHECK(created(0, TENON_F32, 2, shape, &payload) == TENON_ERROR_TYPE);
    CHECK(created(child_type, TENON_F32, 2, shape, &payload) == TENON_ERROR_TYPE);
    CHECK(created(scalar_type, tenon_dtype{200}, 2, shape, &payload) != TENON_OK);
    CHECK(created(scalar_type, TENON_F32, -1, shape, &payload) != TENON_OK);
    CHECK(created(scalar_type, TENON_F32, 1000, shape, &payload) != TENON_OK);
    CHECK(created(scalar_type, TENON_F32, 2, negative, &payload) != TENON_OK);
    CHECK(created(scalar_type, TENON_F32, 2, nullptr, &payload) != TENON_OK);

    const auto wrapped = [&](uint32_t type, tenon_tensor* tensor) {
      tenon_tensor* result = nullptr;
      const Refusal refused =
          refusal([&] { detail::check(service::types().wrap, type, tensor, &payload, &result); });
      CHECK(result == nullptr);
      return refused.kind;
    };
    const Tensor plain = row({1}), scalar = scalar_tensor(2, 1);
    CHECK(wrapped(nothing, plain.handle()) == TENON_ERROR_VALUE);
    CHECK(wrapped(0, plain.handle()) == TENON_ERROR_TYPE);
    CHECK(wrapped(scalar_type, plain.handle()) == TENON_ERROR_TYPE);
    CHECK(wrapped(child_type, scalar.handle()) == TENON_ERROR_TYPE);
    CHECK(wrapped(child_type, nullptr) != TENON_OK);

    CHECK(service::types().is(nothing, 0) == 0);
    CHECK(service::types().is(child_type, nothing) == 0);
    CHECK(service::types().is(child_type, 0) == 1);
    CHECK(std::string(service::types().name(nothing)).empty());
    CHECK_FALSE(knows_type(""));
    CHECK(service::types().payload(nullptr) == nullptr);

    tenon_mode* mode = nullptr;
    int state = 0;
    CHECK(refusal([&] {
            detail::check(service::modes().enter, "none", tenon_handler_function{nullptr},
                          static_cast<void*>(&state), 0, &mode);
          }).kind == TENON_ERROR_ARGUMENT);
    CHECK(mode == nullptr);
    check_table_answers();
  }
}
