// A call as handlers and modes see it: its arguments as the caller wrote them, and as they are
// bound. Random schemas, and random splits into positional arguments, keywords and defaults.
#include "core/dispatch/binding/call_frame.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <random>

#include "core/dispatch/types/modes.hpp"
#include "core/dispatch/types/plan.hpp"
#include "tests/core/dispatch/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

bool same(const tenon_value& a, const tenon_value& b) {
  if (a.tag != b.tag || a.length != b.length) return false;
  if (a.tag == TENON_VALUE_STRING)
    return std::string_view(a.as.string, a.length) == std::string_view(b.as.string, b.length);
  if (a.tag == TENON_VALUE_INT_LIST)
    return std::equal(a.as.integers, a.as.integers + a.length, b.as.integers);
  return a.tag == TENON_VALUE_NONE || a.as.integer == b.as.integer;
}

// A parameter, what may be written for it, and what that is bound as.
struct Kind {
  const char* type;
  const char* default_text;
  struct Form {
    tenon_value written, bound;
  };
  std::vector<Form> forms;  // the first is the default
};

tenon_value text(const char* data) {
  tenon_value value{};
  value.tag = TENON_VALUE_STRING;
  value.length = static_cast<uint32_t>(std::strlen(data));
  value.as.string = data;
  return value;
}

// The call as the handler of a mode sees it.
struct Seen {
  int calls = 0;
  std::deque<std::vector<int64_t>> lists;  // lists that are borrowed for the call
  std::vector<tenon_value> positional, values, bound;
  std::vector<std::string> names;
};
std::vector<tenon_value> kept(Seen& seen, const tenon_value* values, int64_t count) {
  std::vector<tenon_value> copies(values, values + count);
  for (tenon_value& value : copies) {
    if (value.tag != TENON_VALUE_INT_LIST) continue;
    const int64_t* from = value.as.integers;
    value.as.integers = seen.lists.emplace_back(from, from + value.length).data();
  }
  return copies;
}
tenon_status record(void* self, const tenon_call* call, tenon_value* results, tenon_error** error) {
  auto& seen = *static_cast<Seen*>(self);
  ++seen.calls;
  seen.positional = kept(seen, call->positional, call->positional_count);
  seen.values = kept(seen, call->keyword_values, call->keyword_count);
  seen.bound = kept(seen, call->arguments, call->argument_count);
  seen.names.clear();
  for (int64_t k = 0; k < call->keyword_count; ++k)
    seen.names.emplace_back(call->keywords[k].data, static_cast<size_t>(call->keywords[k].length));
  return call_parent(call, nullptr, results, error);
}
tenon_status run(void*, tenon_context*, const tenon_value*, tenon_value*, tenon_error**) {
  return TENON_OK;
}

class Scope {
 public:
  explicit Scope(Seen& seen, bool below = false)
      : mode_(enter_mode("seen", record, &seen, below)) {}
  ~Scope() { leave_mode(mode_); }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  ModeEntry* mode_;
};

void check_values(const std::vector<tenon_value>& found, const std::vector<tenon_value>& expected) {
  REQUIRE(found.size() == expected.size());
  for (size_t i = 0; i < found.size(); ++i) CHECK(same(found[i], expected[i]));
}

}  // namespace

TEST_SUITE("dispatch/call_frame") {
  TEST_CASE("random calls are seen as they are written, and bound as they run") {
    const TensorRef x = floats({1}), y = floats({2});
    const int64_t two[] = {2, 2};
    tenon_value twos{};
    twos.tag = TENON_VALUE_INT_LIST;
    twos.length = 2;
    twos.as.integers = two;
    tenon_value truth = integer(1);
    truth.tag = TENON_VALUE_BOOL;
    const tenon_value none{};
    const Kind kinds[] = {
        {"Tensor", nullptr, {{tensor_value(x.get()), tensor_value(x.get())}}},
        {"Tensor?", "None", {{none, none}, {tensor_value(y.get()), tensor_value(y.get())}}},
        {"int", "3", {{integer(3), integer(3)}, {integer(4), integer(4)}, {truth, truth}}},
        {"float", "2.0", {{number(2), number(2)}, {integer(2), number(2)}, {number(5), number(5)}}},
        {"bool", "True", {{truth, truth}}},
        {"str", "'mean'", {{text("mean"), text("mean")}, {text("sum"), text("sum")}}},
        {"int[2]", "[2, 2]", {{twos, twos}, {integer(2), twos}}},
        {"Scalar", "1", {{integer(1), integer(1)}, {number(1), number(1)}}},
    };
    std::mt19937 random(20);
    const auto below = [&](size_t bound) {
      return std::uniform_int_distribution<size_t>(0, bound - 1)(random);
    };
    for (int round = 0; round < 300; ++round) {
      // A schema: required parameters first, then those with a default, then keyword-only ones.
      std::vector<const Kind*> parameters;
      std::vector<bool> required;
      const size_t needed = below(3), optional = below(4), named = below(4);
      std::string schema = "w.op(";
      for (size_t i = 0; i < needed + optional + named; ++i) {
        const bool may_lack = i >= needed && (i < needed + optional || below(2) == 0);
        const Kind* kind = &kinds[below(std::size(kinds))];
        while (may_lack && kind->default_text == nullptr) kind = &kinds[below(std::size(kinds))];
        parameters.push_back(kind);
        required.push_back(!may_lack);
        if (i > 0) schema += ", ";
        if (i == needed + optional) schema += "*, ";
        schema += std::string(kind->type) + " p" + std::to_string(i);
        if (may_lack) schema += std::string("=") + kind->default_text;
      }
      schema += ") -> Tensor?";
      CAPTURE(schema);
      Registry registry;
      const tenon_op_descriptor op = descriptor(schema.c_str(), run);
      const tenon_op_descriptor* pointer = &op;
      registry.commit("provider", {&pointer, 1});
      const tenon_op* handle = registry.find("w.op");
      const Implementation& implementation = *handle->implementation.load();

      for (int call = 0; call < 8; ++call) {
        // So many by position, of the others some by name in any order.
        const size_t by_position = below(needed + optional + 1);
        std::vector<tenon_value> positional, values, bound;
        std::vector<size_t> order;
        for (size_t i = 0; i < parameters.size(); ++i) {
          const Kind::Form& form = parameters[i]->forms[below(parameters[i]->forms.size())];
          const bool omitted = i >= by_position && !required[i] && below(2) == 0;
          bound.push_back(omitted ? implementation.schema.parameters[i].default_value.value
                                  : form.bound);
          if (i < by_position)
            positional.push_back(form.written);
          else if (!omitted) {
            order.push_back(i);
            values.push_back(form.written);
          }
        }
        std::vector<size_t> shuffled(order.size());
        for (size_t k = 0; k < shuffled.size(); ++k) shuffled[k] = k;
        std::shuffle(shuffled.begin(), shuffled.end(), random);
        std::vector<std::string> names;
        std::vector<tenon_value> named_values;
        for (const size_t k : shuffled) {
          names.push_back("p" + std::to_string(order[k]));
          named_values.push_back(values[k]);
        }
        std::vector<tenon_string> keywords;
        for (const std::string& name : names)
          keywords.push_back({name.data(), static_cast<int64_t>(name.size())});
        Seen outer, inner, under;
        tenon_value results[1] = {};
        tenon_error* error = nullptr;
        tenon_status status = TENON_OK;
        {
          const Scope a(under, true), b(outer), c(inner);
          status =
              keywords.empty()
                  ? call_op(handle, positional.data(), static_cast<int64_t>(positional.size()),
                            results, &error)
                  : call_op_keywords(handle, {positional, keywords, named_values}, results, &error);
        }
        REQUIRE_MESSAGE(status == TENON_OK, (error == nullptr ? "" : error->error.message));
        for (const Seen* seen : {&inner, &outer, &under}) {
          CHECK(seen->calls == 1);
          check_values(seen->positional, positional);
          CHECK(seen->names == names);
          check_values(seen->values, named_values);
          check_values(seen->bound, bound);
        }
      }
    }
  }

  TEST_CASE("a typed wrapper's defaults at the end, and behind the star, count as not given") {
    Registry registry;
    const tenon_op_descriptor op = descriptor(
        "w.op(Tensor x, int k=1, bool flag=False, *, float alpha=1.0, Tensor(a!)? out=None) "
        "-> Tensor?",
        run);
    const tenon_op_descriptor* pointer = &op;
    registry.commit("provider", {&pointer, 1});
    const tenon_op* handle = registry.find("w.op");
    const TensorRef x = floats({1});
    tenon_value no{}, yes{};
    no.tag = yes.tag = TENON_VALUE_BOOL;
    yes.as.integer = 1;
    const auto seen_of = [&](std::vector<tenon_value> values, bool filled) {
      Seen seen;
      const Scope scope(seen);
      tenon_value results[1] = {};
      CHECK((filled ? call_op_filled : call_op)(handle, values.data(),
                                                static_cast<int64_t>(values.size()), results,
                                                nullptr) == TENON_OK);
      return seen;
    };
    const tenon_value none{};
    // An int for alpha: the same when it has to be converted.
    for (const tenon_value& alpha : {number(1), integer(1)}) {
      const Seen plain = seen_of({tensor_value(x.get()), integer(1), no, alpha, none}, true);
      CHECK(plain.positional.size() == 1);
      CHECK(plain.names.empty());
      const Seen exact = seen_of({tensor_value(x.get()), integer(1), no, alpha, none}, false);
      CHECK(exact.positional.size() == 3);
      CHECK(exact.names == std::vector<std::string>{"alpha", "out"});
      CHECK(same(exact.values[0], alpha));
    }
    const Seen given = seen_of({tensor_value(x.get()), integer(1), yes, number(2), none}, true);
    CHECK(given.positional.size() == 3);
    CHECK(given.names == std::vector<std::string>{"alpha"});
  }
}
