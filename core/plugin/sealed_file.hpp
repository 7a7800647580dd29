// A private copy of a plugin's file that nothing can change: the bytes that were judged are the
// bytes that are mapped.
#pragma once

#include <string>

#include "core/plugin/byte_source.hpp"

namespace tenon::core {

// The copy is in memory, sealed by the kernel against writing and resizing. Between judging it and
// mapping it, no other process can put another file in its place or write to it, as is possible with a path.
class SealedFile : public DescriptorSource {
 public:
  // Copies the file, whatever it is now. Throws PluginError, stage find or read.
  explicit SealedFile(const std::string& path);

  // 64 lower-case hexadecimal digits; computed when it is first asked for. [one thread at a time]
  const std::string& sha256() const;
  // Path at which the system's loader finds the copy while this exists. The loader knows libraries
  // by this name, so a copy that was opened has to exist as long as its library.
  std::string path() const;

 private:
  mutable std::string sha256_;
};

}  // namespace tenon::core
