// The service of vocabulary.h as C++ calls it, for plugins and applications.
#pragma once

#include <cstdint>
#include <string_view>

#include <tenon/service.hpp>

#include "vocabulary.h"

// A plugin that calls anything here needs the service: its file says so.
TENON_USES_SERVICE(vocabulary_table, vocabulary_service, "vocabulary", 1)

namespace vocabulary {

inline int64_t number(std::string_view word) {
  int64_t number = 0;
  tenon::call_slot(vocabulary_table().number, word.data(), static_cast<int64_t>(word.size()),
                   &number);
  return number;
}
inline std::string_view word(int64_t number) {
  tenon_string word{};
  tenon::call_slot(vocabulary_table().word, number, &word);
  return {word.data, static_cast<size_t>(word.length)};
}

}  // namespace vocabulary
