// Whether only trusted users can change a plugin's file, or put another one in its place.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/plugin/facts/byte_source.hpp"
#include "core/plugin/failure.hpp"

namespace tenon::core {

struct Distrust {
  std::string problem;
  std::string remedy;

  // The refusal of a plugin's file for it: stage read.
  PluginFailure failure(const std::string& path) const;
};

// Trusted are root, the user of the process, and who can replace libtenon itself: its owner, and
// the owners of the folders that lead to it. All others must be able neither to write to a plugin's
// file nor to rename it or any folder or link on the way to it; a folder with the sticky bit keeps
// what trusted users own in it. Groups are others, but for root's and the process's.
class PathTrust {
 public:
  // Files at or below one of the `allowed` paths are trusted, no matter who can change it.
  explicit PathTrust(std::vector<std::string> allowed = {}) : allowed_(std::move(allowed)) {}

  // Judges a folder that is searched for plugins: others may not add files, either.
  std::optional<Distrust> judge_folder(const std::string& path) const;
  // Judges a file at an absolute path that was opened: `stamp` is that of its descriptor, which
  // must be the file that trusted users have put there.
  std::optional<Distrust> judge_file(const std::string& path, const FileStamp& stamp) const;
  // Throws PluginError where it is not trusted.
  void require_file(const std::string& path, const FileStamp& stamp) const;

 private:
  bool is_allowed(const std::string& path) const;

  std::vector<std::string> allowed_;
};

}  // namespace tenon::core
