// Zip files as NumPy and PyTorch write them: members stored or deflated, of any size.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "byte_source.hpp"
#include "file_fault.hpp"

TENON_NAMESPACE_BEGIN

namespace state {

struct ZipMember {
  std::string name;
  bool deflated = false;
  int64_t compressed = 0;  // bytes in the file
  int64_t size = 0;        // bytes of the contents
  uint32_t checksum = 0;
  int64_t header = 0;  // offset of its header in the file
  int64_t data = 0;    // offset of its bytes in the file
};

// The members in the order of the file. Before one is read, every fact about it is checked: that all
// bytes are in the file, that no two members share any, that no deflated member claims to hold more
// than deflate can make of its bytes. Throws Fault.
std::vector<ZipMember> read_zip(const ByteSource& source);

// The contents of a member, from its beginning on.
class ZipContents {
 public:
  // Both are borrowed.
  ZipContents(const ByteSource& source, const ZipMember& member);
  ~ZipContents();
  // The next `count` bytes. Throws Fault where the member has fewer.
  void read(char* to, int64_t count);
  // After the last byte: that there are no more and that the checksum holds.
  void finish();

 private:
  class Inflater;
  void inflate_into(char* to, int64_t count);
  [[noreturn]] void refuse(const std::string& what) const;

  const ByteSource& source_;
  const ZipMember& member_;
  std::unique_ptr<Inflater> inflater_;  // null: the member is stored
  std::string input_;
  int64_t taken_ = 0;  // compressed bytes
  int64_t given_ = 0;
  bool ended_ = false;
  uint32_t checksum_ = 0;
};

// The whole contents of a member. Throws Fault.
std::string zip_contents(const ByteSource& source, const ZipMember& member);

// A zip file with stored or deflated members. Throws Fault for what is beyond 4 GiB.
class ZipWriter {
 public:
  explicit ZipWriter(bool deflate) : deflate_(deflate) {}
  void add(const std::string& name, const std::string& contents);
  // The whole file. Ends the writing.
  std::string finish();

 private:
  void put(uint64_t value, int bytes, std::string& to) const;
  void put_facts(const ZipMember& member, std::string& to) const;

  bool deflate_;
  std::string file_;
  std::vector<ZipMember> members_;
};

}  // namespace state

TENON_NAMESPACE_END
