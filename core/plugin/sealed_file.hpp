// A private copy of a plugin's file that nothing can change: the bytes that were judged are the
// bytes that are mapped.
#pragma once

#include <memory>
#include <string>

#include "core/plugin/byte_source.hpp"

namespace tenon::core {

// The copy is in memory, sealed by the kernel against writing and resizing. Between judging it and
// mapping it, no other process can put another file in its place or write to it, as is possible with a path.
class SealedFile : public DescriptorSource {
 public:
  // Copies the file, whatever it is now. Throws PluginError, stage find or read.
  explicit SealedFile(const std::string& path);

  // The copy as read-only memory; null for an empty file. Throws PluginError, stage read. [any-thread]
  std::shared_ptr<const void> map() const;
  // Path at which the system's loader finds the copy while this exists. The loader knows libraries
  // by this name, so a copy that was opened has to exist as long as its library.
  std::string path() const;
};

}  // namespace tenon::core
