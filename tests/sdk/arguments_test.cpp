// Arguments, results and attributes by name: what is read is what was passed, of every schema type.
#include <random>

#include <tenon/mode.hpp>

#include "tests/sdk/functions.hpp"

namespace {

using namespace functions;

Op arguments(const std::string& name) { return fixture("arguments." + name); }
std::string written() { return arguments("written")().text(); }

// Random values, and the text that the fixture writes of them.
class Arguments {
 public:
  explicit Arguments(uint32_t seed) : random_(seed) {}

  bool truth() { return random_() % 2 == 0; }
  int64_t integer() { return static_cast<int64_t>(random_() % 2000) - 1000; }
  // Exact in the text: six decimals.
  double number() { return static_cast<double>(integer()) / 64; }
  int64_t length() { return static_cast<int64_t>(random_() % 4); }
  std::string word() {
    std::string word(static_cast<size_t>(length()), 'a');
    for (char& letter : word) letter = static_cast<char>('a' + random_() % 26);
    return word;
  }
  Scalar scalar() {
    switch (random_() % 3) {
      case 0:
        return Scalar(truth());
      case 1:
        return Scalar(integer());
      default:
        return Scalar(number());
    }
  }
  Tensor tensor() {
    std::vector<double> values;
    for (int64_t i = 0; i < length() + 1; ++i) values.push_back(number());
    return row(values);
  }
  DType dtype() {
    constexpr DType dtypes[] = {f32, f64, i64, i32, i16, i8, u8, boolean};
    return dtypes[random_() % 8];
  }
  template <class Make>
  auto list(Make&& make) {
    std::vector<decltype(make())> items;
    const int64_t count = length();
    for (int64_t i = 0; i < count; ++i) items.push_back(make());
    return items;
  }

  static std::string text(const Tensor& tensor) {
    if (!tensor.defined()) return "undefined";
    std::string numbers;
    for (const double number : tensor.to_vector<double>()) numbers += std::to_string(number) + " ";
    return "Tensor " + numbers;
  }
  static std::string text(const Scalar& number) {
    return (number.is_bool() ? "bool " : number.is_floating() ? "float " : "int ") + number.text();
  }
  static std::string text(int64_t number) { return std::to_string(number); }
  static std::string text(double number) { return std::to_string(number); }
  static std::string text(bool truth) { return truth ? "true" : "false"; }
  static std::string text(const std::string& characters) { return "'" + characters + "'"; }
  static std::string text(DType dtype) { return std::to_string(static_cast<int>(dtype)); }
  template <class T>
  static std::string text(const std::vector<T>& list) {
    std::string items;
    for (size_t i = 0; i < list.size(); ++i) items += text(T(list[i])) + ",";
    return "[" + items + "]";
  }

  // Keeps what the value points to, adds it to the call by name, and writes its line.
  template <class T>
  void add(const char* name, const T& value) {
    add_value(name, Argument(value), text(value));
  }
  template <class T>
  void add_or_none(const char* name, const T& value) {
    if (truth())
      add(name, value);
    else
      add_value(name, Argument(none),
                std::is_same_v<T, Tensor>  ? "undefined"
                : std::is_same_v<T, DType> ? text(DType::none)
                                           : "none");
  }
  void add_value(const char* name, const Argument& value, const std::string& text) {
    keywords.push_back(Keyword{name, value});
    expected += std::string(name) + " = " + text + "\n";
  }

  std::vector<Keyword> keywords;
  std::string expected;

 private:
  std::mt19937 random_;
};

// Keywords whose number is known when the program runs only.
Tensor call(const Op& op, const std::vector<Keyword>& keywords) {
  std::vector<tenon_string> names;
  std::vector<tenon_value> values;
  for (const Keyword& keyword : keywords) {
    names.push_back({keyword.name.data(), static_cast<int64_t>(keyword.name.size())});
    values.push_back(keyword.value.value());
  }
  Value result;
  detail::check(service::ops().call_keywords, op.handle(), static_cast<const tenon_value*>(nullptr),
                int64_t{0}, names.data(), values.data(), static_cast<int64_t>(names.size()),
                result.slot());
  return result.tensor();
}
Argument list_of(uint32_t tag, const void* items, size_t count) {
  tenon_value value{};
  value.tag = tag;
  value.length = static_cast<uint32_t>(count);
  value.as.pointer = const_cast<void*>(items);
  return Argument(value);
}

void check_round(uint32_t seed) {
  Arguments random(seed);
  const auto truth = [&] { return random.truth(); };
  const auto integer = [&] { return random.integer(); };
  const auto number = [&] { return random.number(); };
  const auto word = [&] { return random.word(); };
  const auto tensor = [&] { return random.tensor(); };
  // Arguments live until after the call.
  const Tensor first = random.tensor().requires_grad_(), second = random.tensor();
  const auto tensors = random.list(tensor);
  const auto integers = random.list(integer), more = random.list(integer);
  const std::vector<int64_t> pair = {random.integer(), random.integer()};
  const auto numbers = random.list(number), scalars = random.list(number);
  const std::vector<bool> truths = random.list(truth);
  const std::vector<uint8_t> bytes(truths.begin(), truths.end());
  const auto words = random.list(word);
  std::vector<tenon_string> strings;
  for (const std::string& item : words) strings.push_back(detail::string_of(item));
  const std::string line = random.word(), other = random.word();
  const Scalar operand = random.scalar();
  std::vector<std::string> scalar_texts;

  random.add("tensor", first);
  random.add_or_none("tensor_or_none", second);
  random.add("tensors", tensors);
  random.add_value("operand", operand, text_of(Argument(operand)));
  random.add("scalar", random.scalar());
  random.add_or_none("scalar_or_none", random.scalar());
  std::string listed;
  for (const double item : scalars) listed += Arguments::text(Scalar(item)) + ",";
  random.add_value("scalars", Argument(scalars), "[" + listed + "]");
  random.add("integer", random.integer());
  random.add_or_none("integer_or_none", random.integer());
  random.add("integers", integers);
  random.add_or_none("integers_or_none", more);
  random.add("pair", pair);
  random.add("number", random.number());
  random.add_or_none("number_or_none", random.number());
  random.add("numbers", numbers);
  random.add("truth", random.truth());
  random.add_or_none("truth_or_none", random.truth());
  random.add_value("truths", list_of(TENON_VALUE_BOOL_LIST, bytes.data(), bytes.size()),
                   Arguments::text(truths));
  random.add("text", line);
  random.add_or_none("text_or_none", other);
  random.add_value("texts", list_of(TENON_VALUE_STRING_LIST, strings.data(), strings.size()),
                   Arguments::text(words));
  random.add("dtype", random.dtype());
  random.add_or_none("dtype_or_none", random.dtype());
  const int64_t anything = random.integer();
  random.add_value("anything", Argument(anything), std::to_string(anything));

  CAPTURE(seed);
  const Tensor result = call(arguments("every"), random.keywords);
  CHECK(written() == random.expected);
  result.sum().backward();
  CHECK(written() == random.expected);
}

}  // namespace

TEST_SUITE("sdk/arguments") {
  TEST_CASE("F-017 generated: what rules read by name is what was passed, of every schema type") {
    for (uint32_t seed = 0; seed < 300; ++seed) check_round(seed);
  }

  TEST_CASE("generated: needed gradients by name, of a tensor list and behind it") {
    std::mt19937 random(7);
    for (int round = 0; round < 200; ++round) {
      std::string expected;
      const auto make = [&] {
        const bool needed = random() % 2 == 0;
        expected += needed ? '1' : '0';
        return needed ? leaf({1}) : row({1});
      };
      const Tensor x = make();
      std::vector<Tensor> list;
      for (uint64_t i = random() % 4; i > 0; --i) list.push_back(make());
      const Tensor y = make();
      const Tensor result = arguments("needs").call<Tensor>(x, list, 3, y);
      if (!result.requires_grad()) continue;
      CHECK(written() == expected + ";");
      result.backward();
      CHECK(written() == expected + ";" + expected + ";");
    }
  }

  TEST_CASE("needed_gradients builds what backward asks for, in the order of the schema") {
    for (int mask = 1; mask < 16; ++mask) {
      CAPTURE(mask);
      const bool third = (mask & 8) != 0;
      std::vector<Tensor> inputs;
      std::string expected;
      for (int i = 0; i < 3; ++i) {
        const bool needed = (mask >> i & 1) != 0 && (i < 2 || third);
        inputs.push_back(needed ? leaf({2}) : row({2}));
        if (needed) expected += "xyz"[i];
      }
      const Tensor result =
          arguments("blend").call<Tensor>(inputs[0], 3, inputs[1], third ? inputs[2] : Tensor());
      if (expected.empty()) continue;
      result.sum().backward();
      CHECK(written() == expected);
      for (size_t i = 0; i < 3; ++i) {
        if (!inputs[i].requires_grad()) continue;
        CHECK(numbers(inputs[i].grad()) == Numbers{static_cast<double>(i + 2)});
      }
    }
  }

  TEST_CASE("results by name") {
    const Tensor x = leaf({4});
    const auto [lower, count, upper] =
        arguments("halves").call<std::tuple<Tensor, int64_t, Tensor>>(x);
    CHECK(count == 2);
    (lower + upper).backward();
    CHECK(written() == "Tensor 1.000000 Tensor 3.000000 ");
    CHECK(numbers(x.grad()) == Numbers{1});
  }

  TEST_CASE("attributes of a module by name, in its definition and from outside") {
    fixture("arguments.written");
    const std::vector<double> weights = {0.5, 2};
    const Module window = Module::create("arguments.Window", arg("size") = 3, arg("stride") = 2,
                                         arg("weights") = weights, arg("label") = "wide");
    window(row({1}));
    CHECK(written() == "3 [2,2,] [0.500000,2.000000,] 0");
    CHECK(has(window.text(), "label=wide"));

    CHECK(window.attribute<int64_t>("size") == 3);
    CHECK(window.attribute<IntList>("stride")[1] == 2);
    CHECK(window.attribute<std::optional<FloatList>>("weights")->size() == 2);
    CHECK(window.attribute<std::string>("label") == "wide");
    CHECK(window.attribute<DType>("dtype") == DType::none);
    const Refusal unknown = refusal([&] { window.attribute<int64_t>("stirde"); });
    CHECK(unknown.kind == TENON_ERROR_INDEX);
    CHECK(unknown.text == "'arguments.Window' has no parameter 'stirde' (did you mean 'stride'?)");
    const Refusal type = refusal([&] { window.attribute<int64_t>("label"); });
    CHECK(type.kind == TENON_ERROR_TYPE);
    CHECK(has(type.text, "arguments.Window: the attribute 'label' is str, not "));
  }

  TEST_CASE("a handler reads the arguments of any op by names that it looks up") {
    struct Reader : Mode {
      Reader() : Mode("reader") {}
      Results tenon_function(const Call& call) override {
        if (call.name() == "add") {
          alpha = text_of(call.argument("alpha"));
          other = numbers(call.tensor("other"));
          unknown = refusal([&] { call.argument("otter"); });
        }
        return call.call_parent();
      }
      std::string alpha;
      Numbers other;
      Refusal unknown;
    } reader;
    {
      const ModeScope scope(reader);
      Op("add")(row({1}), row({2}), arg("alpha") = 3);
    }
    CHECK(reader.alpha == "3");
    CHECK(reader.other == Numbers{2});
    CHECK(reader.unknown.kind == TENON_ERROR_INDEX);
    CHECK(reader.unknown.text == "'add' has no parameter 'otter' (did you mean 'other'?)");
  }
}
