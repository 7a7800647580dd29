// Random-access bytes with a known size: a plugin file, a sealed copy of it, or what tests put in its
// place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace tenon::core {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual uint64_t size() const = 0;
  // Exactly `count` bytes or false. Ranges outside [0, size()) are false, never undefined.
  virtual bool read(uint64_t offset, void* destination, size_t count) const = 0;
};

// Distinguishes versions of a file without reading it.
struct FileStamp {
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t size = 0;
  int64_t modified = 0;  // nanoseconds
  int64_t changed = 0;
  uint32_t mode = 0;  // with owner and group: who may write to it
  uint32_t owner = 0;
  uint32_t group = 0;

  bool operator==(const FileStamp&) const = default;
  bool same_file(const FileStamp& other) const {
    return device == other.device && inode == other.inode;
  }
};

// The bytes of a descriptor, which it owns.
class DescriptorSource : public ByteSource {
 public:
  DescriptorSource() = default;
  ~DescriptorSource() override;
  DescriptorSource(const DescriptorSource&) = delete;
  DescriptorSource& operator=(const DescriptorSource&) = delete;

  uint64_t size() const override { return stamp_.size; }
  bool read(uint64_t offset, void* destination, size_t count) const override;
  // Stamp of the file when it was opened.
  const FileStamp& stamp() const { return stamp_; }

 protected:
  int file_ = -1;
  FileStamp stamp_;
};

// Follows links, takes regular files only, and never waits: a named pipe or a device is refused at
// once.
class FileSource : public DescriptorSource {
 public:
  // Throws PluginError, stage find when there is no such file and stage read otherwise.
  explicit FileSource(const std::string& path);
};

// A private copy of a file in memory, sealed by the kernel against writing and resizing. Between judging
// it and mapping it, no other process can put another file in its place or write to it, as is possible
// with a path: the bytes that were judged are the bytes that are mapped.
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

// Reads both, as far as they agree.
bool has_same_bytes(const ByteSource& one, const ByteSource& other);

}  // namespace tenon::core
