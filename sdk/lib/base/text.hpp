// Words of the libraries' messages: quoted texts and lists of words, as the host writes them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <tenon/json.hpp>
#include <tenon/text.hpp>

TENON_NAMESPACE_BEGIN

namespace lib {

// 'text' in single quotes: quotes, backslashes and control characters escaped, long text cut.
std::string quote(std::string_view text);
bool is_utf8(std::string_view text);
// Whether the whole text is the pattern, in which '*' stands for any text.
bool matches(std::string_view pattern, std::string_view text);
// "a, b or c"
std::string word_list(const std::vector<std::string>& words, std::string_view conjunction);
// "'a', 'b' and 'c'"
std::string quoted_list(const std::vector<std::string>& words,
                        std::string_view conjunction = "and");
// The texts of a list's elements; none where the value is not a list.
std::vector<std::string> texts_of(const Json& list);

}  // namespace lib

TENON_NAMESPACE_END
