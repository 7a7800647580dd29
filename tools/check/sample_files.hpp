// The files that the calls of one sample read and write.
#pragma once

#include <string>

namespace cli {

// In a folder of the sample; removed with the folder of the whole check. Any thread.
class SampleFiles {
 public:
  // Makes the folder; throws tenon::IOError. `preparing`: all that is written is for every call.
  explicit SampleFiles(std::string folder, bool preparing = false);

  // Writes a file that all calls share, with the folders that its name has.
  void write(const std::string& name, const std::string& content) const;
  // The file or folder that was prepared under this name; otherwise a path for the calls of this
  // thread alone.
  std::string path(const std::string& name) const;
  // Removes what calls of this thread have written.
  void clear() const;

 private:
  std::string own() const;
  const std::string folder_;
  const bool preparing_;
};

// The fault of a name; empty: nothing.
std::string file_name_fault(const std::string& name);

}  // namespace cli
