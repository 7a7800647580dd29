// A folder for the files of one object.
#pragma once

#include <string>

namespace cli {

// With a name that cannot be foreseen, closed to other users, gone with the object.
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
