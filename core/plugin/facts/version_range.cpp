// Parsing and order of semantic versions.
#include "core/plugin/facts/version_range.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include "core/base/characters.hpp"
#include "core/base/error.hpp"
#include "core/base/text.hpp"

namespace tenon::core {

namespace {

[[noreturn]] void refuse(std::string_view text, const char* what, const char* example) {
  throw Error(TENON_ERROR_VALUE, "'{}' is not a {}; write it like {}", text, what, example);
}

// Takes one number off the front of `rest`.
bool take_number(std::string_view& rest, uint64_t& number) {
  const auto [end, fault] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  if (fault != std::errc{}) return false;
  rest.remove_prefix(static_cast<size_t>(end - rest.data()));
  return true;
}

// How many of the three numbers were given; 0 when the text is not a version.
int take_version(std::string_view text, Version& version) {
  int count = 0;
  while (count < 3) {
    if (!take_number(text, version.numbers[static_cast<size_t>(count)])) return 0;
    ++count;
    if (text.empty() || text.front() != '.') break;
    text.remove_prefix(1);
  }
  if (const size_t plus = text.find('+'); plus != text.npos) {
    if (plus + 1 == text.size()) return 0;
    text = text.substr(0, plus);
  }
  if (text.empty()) return count;
  if (text.front() != '-' || text.size() == 1 || count != 3) return 0;
  version.prerelease = text.substr(1);
  const auto allowed = [](char c) { return is_letter(c) || is_digit(c) || c == '-' || c == '.'; };
  return std::all_of(version.prerelease.begin(), version.prerelease.end(), allowed) ? count : 0;
}

// Identifier by identifier: numbers by value and before words, words by bytes, fewer before more.
std::weak_ordering compare_prereleases(std::string_view a, std::string_view b) {
  if (a.empty() || b.empty()) return a.empty() <=> b.empty();
  while (!a.empty() && !b.empty()) {
    const std::string_view first = a.substr(0, a.find('.'));
    const std::string_view second = b.substr(0, b.find('.'));
    std::string_view first_rest = first;
    std::string_view second_rest = second;
    uint64_t first_number = 0;
    uint64_t second_number = 0;
    const bool first_numeric = take_number(first_rest, first_number) && first_rest.empty();
    const bool second_numeric = take_number(second_rest, second_number) && second_rest.empty();
    if (first_numeric != second_numeric) return second_numeric <=> first_numeric;
    const std::weak_ordering order = first_numeric
                                         ? std::weak_ordering(first_number <=> second_number)
                                         : std::weak_ordering(first <=> second);
    if (std::is_neq(order)) return order;
    a.remove_prefix(std::min(a.size(), first.size() + 1));
    b.remove_prefix(std::min(b.size(), second.size() + 1));
  }
  return b.empty() <=> a.empty();
}

}  // namespace

std::weak_ordering Version::operator<=>(const Version& other) const {
  if (const auto order = numbers <=> other.numbers; std::is_neq(order)) return order;
  return compare_prereleases(prerelease, other.prerelease);
}

Version parse_version(std::string_view text) {
  Version version;
  if (take_version(text, version) != 3) refuse(text, "semantic version", "1.2.3 or 1.2.3-rc.1");
  return version;
}

VersionRange::VersionRange(std::string_view text) : text_(text) {
  constexpr const char* kExample = "'>=1.2, <2', '1.2' or '*'";
  static constexpr std::pair<std::string_view, Relation> kSigns[] = {{">=", Relation::GreaterEqual},
                                                                     {">", Relation::Greater},
                                                                     {"<=", Relation::LessEqual},
                                                                     {"<", Relation::Less},
                                                                     {"=", Relation::Equal}};
  std::string_view rest = trim_spaces(text);
  if (rest.empty() || rest == "*") return;
  while (true) {
    const size_t comma = rest.find(',');
    const std::string_view part = trim_spaces(rest.substr(0, comma));
    const auto sign =
        std::ranges::find_if(kSigns, [&](const auto& one) { return part.starts_with(one.first); });
    const bool is_compatible = part.starts_with('^');
    const bool is_bare = sign == std::end(kSigns) && !is_compatible;
    Version version;
    const int count = take_version(trim_spaces(part.substr(is_bare         ? 0
                                                           : is_compatible ? 1
                                                                           : sign->first.size())),
                                   version);
    if (count == 0) refuse(part, "version range", kExample);
    // "^1.2" is up to the next change of the first number that is not zero, "1.2" any 1.2.x.
    size_t last = static_cast<size_t>(count) - 1;
    if (is_compatible) {
      const auto* const begin = version.numbers.begin();
      last = static_cast<size_t>(
          std::find_if(begin, begin + last, [](uint64_t number) { return number != 0; }) - begin);
    }
    if (is_compatible || (is_bare && count < 3)) {
      Version end;
      std::copy_n(version.numbers.begin(), last + 1, end.numbers.begin());
      ++end.numbers[last];
      bounds_.push_back({Relation::GreaterEqual, version});
      bounds_.push_back({Relation::Less, end});
    } else {
      bounds_.push_back({is_bare ? Relation::Equal : sign->second, version});
    }
    if (comma == rest.npos) return;
    rest.remove_prefix(comma + 1);
  }
}

bool VersionRange::contains(const Version& version) const {
  return std::ranges::all_of(bounds_, [&](const Bound& bound) {
    const auto order = version <=> bound.version;
    switch (bound.relation) {
      case Relation::Less:
        return order < 0;
      case Relation::LessEqual:
        return order <= 0;
      case Relation::Equal:
        return order == 0;
      case Relation::GreaterEqual:
        return order >= 0;
      case Relation::Greater:
        return order > 0;
    }
    return false;
  });
}

}  // namespace tenon::core
