// Files that configs and commands name.
#pragma once

#include <cstdint>
#include <string>

namespace cli {

// The file's text, of a long file its first `most` bytes. A pipe or device is refused: it may block
// for ever, or never end. Throws IOError.
std::string read_file(const std::string& path, int64_t most = INT64_MAX);
int64_t file_length(const std::string& path);

// Why the file cannot be written; empty: it can. Said before hours of training, not after them.
std::string output_fault(const std::string& path);

// A folder for the files of one object, with a name that cannot be foreseen, closed to other users.
class PrivateFolder {
 public:
  PrivateFolder();
  ~PrivateFolder();
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace cli
