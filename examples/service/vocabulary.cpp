// The provider: no op, one service.
#include "vocabulary.h"

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include <tenon/plugin.hpp>
#include <tenon/service.hpp>

namespace {

struct Words {
  std::mutex mutex;
  std::map<std::string, int64_t, std::less<>> numbers;
  std::deque<std::string> words;  // their addresses stay
};
Words& words() {
  static Words all;
  return all;
}

tenon_status TENON_CALL number(const char* word, int64_t length, int64_t* result,
                               tenon_error** error) {
  return tenon::run_slot(error, [&] {
    Words& all = words();
    const std::lock_guard lock(all.mutex);
    const std::string_view text(word, static_cast<size_t>(length));
    auto found = all.numbers.find(text);
    if (found == all.numbers.end()) {
      found = all.numbers.emplace(text, static_cast<int64_t>(all.words.size())).first;
      all.words.emplace_back(text);
    }
    *result = found->second;
  });
}

tenon_status TENON_CALL word(int64_t number, tenon_string* result, tenon_error** error) {
  return tenon::run_slot(error, [&] {
    Words& all = words();
    const std::lock_guard lock(all.mutex);
    if (number < 0 || number >= static_cast<int64_t>(all.words.size()))
      throw tenon::IndexError("the vocabulary has no word " + std::to_string(number));
    const std::string& text = all.words[static_cast<size_t>(number)];
    *result = {text.data(), static_cast<int64_t>(text.size())};
  });
}

int64_t TENON_CALL size() {
  Words& all = words();
  const std::lock_guard lock(all.mutex);
  return static_cast<int64_t>(all.words.size());
}

struct Vocabulary {
  static constexpr auto name = "vocabulary";
  static constexpr auto doc = "Words and their numbers, one list for the process.";
  static constexpr vocabulary_service table{{sizeof(vocabulary_service), 1}, number, word, size};
};
TENON_SERVICE(Vocabulary)

}  // namespace

TENON_PLUGIN(vocabulary, "1.0.0")
