// The lists of what can be overridden, and the stand-ins and questions that come with them.
#include <algorithm>
#include <set>

#include <tenon/listing/listing.hpp>
#include <tenon/mode.hpp>

#include "tests/sdk/functions.hpp"

using namespace functions;

namespace {

std::string full_name(const std::string& name_space, const std::string& name) {
  return name_space.empty() ? name : name_space + "." + name;
}

// Arguments for every parameter of an op, whatever it is, alive as long as this.
struct AnyArguments {
  const Tensor one = row({1, 2});
  const std::vector<Tensor> list{one};
  const std::vector<int64_t> integers{1, 1, 1, 1, 1, 1, 1, 1};
  const std::vector<double> floats{1, 1, 1, 1};
  const std::array<tenon_string, 1> texts{tenon_string{"text", 4}};
  std::vector<std::string> names;
  std::vector<Argument> positional;
  std::vector<Keyword> keywords;

  explicit AnyArguments(const Json& parameters) {
    names.reserve(static_cast<size_t>(parameters.size()));
    for (int64_t i = 0; i < parameters.size(); ++i) {
      const Argument value = value_of(parameters[i]["type"].text());
      if (parameters[i]["keyword_only"].as_bool())
        keywords.push_back({names.emplace_back(parameters[i]["name"].text()), value});
      else
        positional.push_back(value);
    }
  }

 private:
  Argument value_of(std::string type) const {
    if (type.back() == '?') type.pop_back();
    const size_t bracket = type.find('[');
    if (bracket != std::string::npos) {
      const std::string length = type.substr(bracket + 1, type.size() - bracket - 2);
      const int64_t count = length.empty() ? 1 : std::stoll(length);
      if (type.rfind("Tensor", 0) == 0) return list;
      if (type.rfind("float", 0) == 0) return floats;
      if (type.rfind("str", 0) == 0) return texts;
      return IntList(integers.data(), count);
    }
    if (type.rfind("Tensor", 0) == 0) return one;
    if (type == "float") return 1.0;
    if (type == "bool") return true;
    if (type == "str") return "text";
    if (type == "dtype") return f64;
    return 1;
  }
};

const char* const shipped[] = {"math", "blas", "nn", "optim", "metric", "data"};

}  // namespace

TEST_SUITE("sdk/overridable") {
  TEST_CASE(
      "OV-38 F-165 F-166 F-170 F-306 every op is in exactly one list, and has a testing override") {
    const auto overridable = get_overridable_functions();
    const auto ignored = get_ignored_functions();
    const auto overrides = get_testing_overrides();
    std::set<std::string> listed;
    for (const auto& [name_space, names] : overridable) {
      CHECK(std::is_sorted(names.begin(), names.end()));
      for (const std::string& name : names) {
        const std::string full = full_name(name_space, name);
        CHECK(listed.insert(full).second);
        CHECK(ignored.count(full) == 0);
        CHECK(overrides.count(full) == 1);
      }
    }
    CHECK(overrides.size() == listed.size());
    for (const auto& [name, reason] : ignored) {
      CHECK(listed.insert(name).second);
      CHECK(!reason.empty());
    }
    std::set<std::string> all;
    const Json ops = listing::ops();
    for (int64_t i = 0; i < ops.size(); ++i) all.insert(ops[i]["name"].text());
    CHECK(listed == all);
    CHECK(all.size() > 150);
  }

  TEST_CASE("F-167 the first five of the functional namespace") {
    std::vector<std::string> first = get_overridable_functions().at("nn.functional");
    first.resize(5);
    CHECK(first == std::vector<std::string>{"adaptive_avg_pool1d", "adaptive_avg_pool2d",
                                            "adaptive_avg_pool3d", "adaptive_max_pool1d",
                                            "adaptive_max_pool1d_with_indices"});
  }

  TEST_CASE(
      "OV-39 F-168 every testing override of a shipped op takes what the op takes and is -1") {
    const auto overrides = get_testing_overrides();
    size_t called = 0;
    for (const char* plugin : shipped) {
      const Json ops = listing::declarations(plugin)["ops"];
      for (int64_t i = 0; i < ops.size(); ++i) {
        const auto found = overrides.find(ops[i]["name"].text());
        if (found == overrides.end()) continue;
        CAPTURE(found->first);
        const AnyArguments any(ops[i]["parameters"]);
        CHECK(found->second(any.positional, any.keywords) == -1);
        ++called;
        // Equal names, order and defaults, since the schema is printed.
        std::string names = "(";
        bool keyword_only = false;
        for (int64_t p = 0; p < ops[i]["parameters"].size(); ++p) {
          const Json parameter = ops[i]["parameters"][p];
          if (p > 0) names += ", ";
          if (parameter["keyword_only"].as_bool() && !keyword_only) names += "*, ";
          keyword_only = parameter["keyword_only"].as_bool();
          names += parameter["name"].text();
          if (!parameter["default"].is_null()) names += "=" + parameter["default"].text();
        }
        CHECK(found->second.signature() == names + ")");
      }
    }
    CHECK(called > 150);
  }

  TEST_CASE("OV-39 F-168 arguments that do not bind are the errors of a call") {
    const auto overrides = get_testing_overrides();
    const TestingOverride& add_override = overrides.at("add");
    const Op add_op("add");
    const Tensor x = row({1});
    CHECK(add_override(x, x, arg("alpha") = 2) == -1);
    const auto compare = [&](const auto&... arguments) {
      const Refusal stood_in = refusal([&] { add_override(arguments...); });
      const Refusal called = refusal([&] { add_op(arguments...); });
      CHECK(stood_in.kind == TENON_ERROR_TYPE);
      CHECK(stood_in.text == called.text);
    };
    compare(x);
    compare(x, x, x);
    compare(x, x, arg("alhpa") = 2);
    compare(x, "two");
  }

  TEST_CASE("F-169 the signature of a testing override") {
    tx("example");
    CHECK(get_testing_overrides().at("tx.example").text() ==
          "<Signature (input, other, out=None)>");
    CHECK(get_testing_overrides().at("add").signature() == "(input, other, *, alpha=1, out=None)");
  }

  TEST_CASE("OV-38 F-233 the name of every op leads back to it") {
    for (const auto& [name, dummy] : get_testing_overrides()) {
      if (name.find('.') != std::string::npos && name.rfind("nn.", 0) != 0) continue;
      const Op op(name);
      CHECK(resolve_name(op) == name);
      CHECK(Op(resolve_name(op)) == op);
    }
  }

  TEST_CASE("F-234 what is like a tensor, and which ops are methods of one") {
    const Tensor plain = row({1});
    const Tensor scalar = tx("scalar")(2, 2.0).tensor();
    const Tensor bare = tx("make").call<Tensor>("Bare");
    CHECK(is_tensor_like(plain));
    CHECK(is_tensor_like(scalar));
    CHECK(!is_tensor_like(bare));
    CHECK(!is_tensor_like(3));
    CHECK(!is_tensor_like("text"));
    CHECK(is_tensor_method_or_property(Op("add")));
    CHECK(!is_tensor_method_or_property(Op("ones")));
    CHECK(!is_tensor_method_or_property(Op("nn.functional.elu")));
  }

  TEST_CASE("F-234 whether anybody is asked, and asking them") {
    const Tensor plain = row({1, 3});
    const Tensor scalar = tx("scalar")(2, 2.0).tensor();
    const Op mean_op("mean");
    CHECK(!has_tenon_function(plain, 2));
    CHECK(has_tenon_function(plain, scalar));
    CHECK(has_tenon_function(std::vector<Tensor>{plain, scalar}));
    CHECK(handle_tenon_function(mean_op, scalar).scalar().to<double>() == 1);
    CHECK(refusal([&] { handle_tenon_function(mean_op, plain); }).kind == TENON_ERROR_TYPE);
    CountMode count;
    const ModeScope scope(count);
    CHECK(has_tenon_function(plain));
    CHECK(handle_tenon_function(mean_op, plain).tensor().item() == 2);
    CHECK(count.calls().at("mean") == 1);
  }

  TEST_CASE("F-234 a wrapped function dispatches, and is differentiated through what it calls") {
    const Op scaled_sum = tx("scaled_sum");
    CHECK(text_of(scaled_sum(tx("make")("D").tensor(), 2.0)) == "2.0");
    const Tensor x = leaf({1, 2});
    const Tensor y = scaled_sum.call<Tensor>(x, 3.0);
    CHECK(y.item() == 9);
    y.backward();
    CHECK(numbers(x.grad()) == Numbers{3, 3});
    CHECK(get_testing_overrides().at("tx.scaled_sum").signature() == "(input, scale=1.0)");
  }
}
