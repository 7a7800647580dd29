// Names that a word of the command line means.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cli {

// "nn.functional" of "nn.functional.conv2d", and "conv2d"; the namespace of the root is empty.
std::string namespace_part(std::string_view name);
std::string last_part(std::string_view name);

// A pattern of names: with *, ? or [...] one that the name in full, or its last part, matches; else a
// namespace of the names, with those inside it where it has no names itself; else a text that is
// part of the name, whatever the case of its letters. An empty one matches all.
class NamePattern {
 public:
  NamePattern(std::string text, const std::vector<std::string>& names);
  // Whether it has wildcards.
  static bool is_one(std::string_view text);
  bool matches(const std::string& name) const;
  // " (did you mean 'nn.functional'?)" of names and namespaces; or nothing.
  std::string suggestion() const;

 private:
  std::string text_;
  const std::vector<std::string>& names_;
  bool wildcards_, namespace_ = false, within_ = false;
};

}  // namespace cli
