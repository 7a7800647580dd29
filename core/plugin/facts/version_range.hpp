// Semantic versions of plugins, and the ranges of them that configs ask for.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::core {

struct Version {
  std::array<uint64_t, 3> numbers{};
  std::string prerelease;  // "rc.1"; empty for a release, which comes after all of its prereleases

  std::weak_ordering operator<=>(const Version& other) const;
  bool operator==(const Version& other) const { return std::is_eq(*this <=> other); }
};

// "1.2.3", "1.2.3-rc.1", "1.2.3+build" (the build part says nothing). Throws ValueError.
Version parse_version(std::string_view text);

// ">=1.2, <2" (all must hold), "1.2" (any 1.2.x), "^1.2" (1.2 up to 2), "=1.2.3", "*". An empty
// range takes every version.
class VersionRange {
 public:
  VersionRange() = default;
  // Throws ValueError with the part that cannot be read.
  explicit VersionRange(std::string_view text);

  bool contains(const Version& version) const;
  const std::string& text() const { return text_; }

 private:
  enum class Relation : uint8_t { Less, LessEqual, Equal, GreaterEqual, Greater };
  struct Bound {
    Relation relation;
    Version version;
  };

  std::string text_;
  std::vector<Bound> bounds_;
};

}  // namespace tenon::core
