// Files that a command makes, where none may be overwritten and all belong together.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace cli {

// Deletes what it has made, unless it is kept: when writing the rest has failed.
class NewFiles {
 public:
  NewFiles() = default;
  ~NewFiles();
  NewFiles(const NewFiles&) = delete;
  NewFiles& operator=(const NewFiles&) = delete;

  // Both make the folders above. IOError where the file exists, or cannot be written.
  void folder(const std::filesystem::path& path);
  void write(const std::filesystem::path& path, std::string_view text);
  void keep() { made_.clear(); }

 private:
  std::vector<std::filesystem::path> made_;
};

}  // namespace cli
