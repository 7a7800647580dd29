// Files written as a whole or not at all: a temporary beside the target takes its place at the end.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <tenon/host.hpp>

TENON_NAMESPACE_BEGIN

namespace state {

// Write, then commit; without commit the old file stays and the temporary goes. Temporaries that a
// killed process left for the same target are removed. A symbolic link is followed unless another
// user made it in a folder that is not theirs; an existing file keeps its permissions, and one that
// may not be written is refused. A pipe or device, such as /dev/stdout, is written to directly.
// Failures are IOErrors that name the path and the reason.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path);  // opens a file beside it
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  void write(const void* data, int64_t bytes);  // IOError on a full disk
  // Appends a text.
  void write(std::string_view text) { write(text.data(), static_cast<int64_t>(text.size())); }
  void commit();  // takes the file's place; IOError

 private:
  [[noreturn]] void fail(const char* what, int code) const;

  std::string path_;       // as asked
  std::string target_;     // after symbolic links
  std::string temporary_;  // empty when the target is written to directly
  int descriptor_ = -1;
};

void write_file(const std::string& path, std::string_view data);  // whole or not at all

}  // namespace state

TENON_NAMESPACE_END
