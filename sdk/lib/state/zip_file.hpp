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

// A zip file with stored or deflated members. Throws Fault for names that the format does not hold.
class ZipWriter {
 public:
  // Sizes and places beyond `most_in_32` are written in 64 bits: a test does that to small files.
  explicit ZipWriter(bool deflate, int64_t most_in_32 = 0xfffffffe)
      : deflate_(deflate), most_in_32_(most_in_32) {}
  void add(const std::string& name, const std::string& contents);
  // The whole file. Ends the writing.
  std::string finish();

 private:
  static void put(uint64_t value, int bytes, std::string& to);
  void put_word(int64_t value, std::string& to) const;
  void put_facts(const ZipMember& member, std::string& to) const;
  std::string numbers_of_64_bits(const ZipMember& member, bool in_directory) const;
  void put_end64(int64_t directory, int64_t end);
  bool is_long(int64_t number) const { return number > most_in_32_; }
  bool has_long_size(const ZipMember& member) const {
    return is_long(member.size) || is_long(member.compressed);
  }

  bool deflate_;
  int64_t most_in_32_;
  std::string file_;
  std::vector<ZipMember> members_;
};

}  // namespace state

TENON_NAMESPACE_END
