// Who is asked first, over whole families of types: every order of three and four operands, every
// pair of children.
#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "tests/sdk/functions.hpp"

using namespace functions;

namespace {

Op order(const std::string& name) {
  static const bool loaded = (load_plugin(TENON_FIXTURES "/type_order.so"), true);
  (void)loaded;
  return Op("type_order." + name);
}

// The types of the fixture, each with its parent; all have handlers that write down who they are.
const std::map<std::string, std::string> parents = {{"Root", ""},      {"Left", "Root"},
                                                    {"Right", "Root"}, {"Leaf", "Left"},
                                                    {"Other", ""},     {"OtherChild", "Other"}};
bool descends(std::string type, const std::string& ancestor) {
  while (!type.empty() && type != ancestor) type = parents.at(type);
  return !type.empty();
}

// NEP 18: each type before the first of those gathered that it descends from, else at the end.
std::vector<std::string> expected_order(const std::vector<std::string>& operands) {
  std::vector<std::string> asked;
  for (const std::string& type : operands) {
    if (std::find(asked.begin(), asked.end(), type) != asked.end()) continue;
    const auto place = std::find_if(asked.begin(), asked.end(), [&](const std::string& other) {
      return descends(type, other);
    });
    asked.insert(place, type);
  }
  return asked;
}
std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}
std::vector<Tensor> objects(const std::vector<std::string>& types) {
  std::vector<Tensor> list;
  for (const std::string& type : types) list.push_back(order("make").call<Tensor>(type));
  return list;
}

// Every operand list of `length` types, repetitions included.
template <class Body>
void each_list(size_t length, Body&& body) {
  std::vector<std::string> names;
  for (const auto& [name, parent] : parents) names.push_back(name);
  std::vector<size_t> digits(length);
  while (true) {
    std::vector<std::string> list;
    for (const size_t digit : digits) list.push_back(names[digit]);
    body(list);
    size_t place = 0;
    while (place < length && ++digits[place] == names.size()) digits[place++] = 0;
    if (place == length) return;
  }
}

}  // namespace

TEST_SUITE("sdk/type_order") {
  TEST_CASE(
      "F-160 F-161 F-163 every list of operands is asked in the order of NEP 18, each type once") {
    const Op cat("cat"), log = order("log");
    for (const size_t length : {size_t{1}, size_t{2}, size_t{3}, size_t{4}}) {
      int64_t wrong = 0;
      each_list(length, [&](const std::vector<std::string>& types) {
        const std::string asked = joined(expected_order(types));
        const Refusal refused = refusal([&] { cat(objects(types)); });
        const bool right =
            refused.kind == TENON_ERROR_TYPE && log().text() == asked &&
            refused.text.find("tenon_function: [" + asked + "]") != std::string::npos;
        if (right) return;
        ++wrong;
        MESSAGE("[" << joined(types) << "]: " << refused.text);
      });
      CHECK(wrong == 0);
    }
  }

  TEST_CASE("F-162 the first that does not decline ends the asking, whatever it answers") {
    const Op cat("cat"), log = order("log"), answer = order("answer");
    for (const char* winner : {"Root", "Left", "Other"}) {
      answer.call<void>(winner);
      each_list(3, [&](const std::vector<std::string>& types) {
        std::vector<std::string> asked = expected_order(types);
        const auto place = std::find(asked.begin(), asked.end(), winner);
        if (place == asked.end()) return;
        asked.erase(place + 1, asked.end());
        CHECK(text_of(cat(objects(types))) == "None");
        CHECK(log().text() == joined(asked));
      });
    }
    answer.call<void>("");
  }

  TEST_CASE("F-144 the default handler takes a pair when one type descends from the other") {
    // Subclasses of Tensor without handlers: C2 of C1, C3 of C2, D1 apart.
    const std::map<std::string, int> line = {{"C1", 1}, {"C2", 2}, {"C3", 3}};
    const std::vector<std::string> names = {"Tensor", "C1", "C2", "C3", "D1"};
    for (const std::string& a : names) {
      for (const std::string& b : names) {
        CAPTURE(a);
        CAPTURE(b);
        const Tensor x = order("child").call<Tensor>(a), y = order("child").call<Tensor>(b);
        const bool in_line = line.count(a) + line.count(b) == 2;
        const std::string lower = a == b || b == "Tensor" ? a
                                  : a == "Tensor"         ? b
                                  : in_line               ? (line.at(a) > line.at(b) ? a : b)
                                                          : "";
        if (!lower.empty()) {
          CHECK(type_name(x + y) == lower);
          CHECK(numbers((x + y).to(f64)) == Numbers{2});
        } else {
          CHECK(
              refusal([&] { x + y; }).text ==
              "no implementation found for 'tenon.add' on types that implement tenon_function: [" +
                  a + ", " + b + "]");
        }
      }
    }
  }
}
