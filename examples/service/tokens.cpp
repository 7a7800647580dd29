// The user: two ops that read and write the vocabulary of another plugin.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/plugin.hpp>

#include "vocabulary.hpp"

using tenon::Tensor;

namespace {

struct Encode {
  static constexpr auto schema = "tokens.encode(str text) -> Tensor";
  static constexpr auto doc = "Numbers of the words of a text, which are separated by spaces.";
  static constexpr bool zero_gradient = true;
  static Tensor forward(std::string_view text) {
    std::vector<int64_t> numbers;
    while (!text.empty()) {
      const std::string_view word = text.substr(0, text.find(' '));
      if (!word.empty()) numbers.push_back(vocabulary::number(word));
      text.remove_prefix(std::min(word.size() + 1, text.size()));
    }
    const auto count = static_cast<int64_t>(numbers.size());
    const Tensor result = tenon::empty_tensor({count}, tenon::i64);
    std::copy(numbers.begin(), numbers.end(), result.data<int64_t>());
    return result;
  }
};

struct Decode {
  static constexpr auto schema = "tokens.decode(int[] numbers) -> str";
  static constexpr auto doc = "The words of numbers, separated by spaces.";
  static std::string forward(tenon::IntList numbers) {
    std::string text;
    for (const int64_t number : numbers) {
      if (!text.empty()) text += ' ';
      text += vocabulary::word(number);
    }
    return text;
  }
};

TENON_OP(Encode)
TENON_OP(Decode)

}  // namespace

TENON_PLUGIN(tokens, "1.0.0")
