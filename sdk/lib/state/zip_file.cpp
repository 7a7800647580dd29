// Reads and writes zip files: the directory first, then members; with checks against overlaps and
// unpacked sizes that no file of that length can have.
//
// By hand, over zlib. libzip 1.7 and minizip 1.1 report no offset of a member's header, which the check
// for overlaps needs: the directory, 155 of these lines, would be read here as well. They would take
// the contents and the writing, 140 lines, for 60 of callbacks that read a ByteSource, and their error
// codes do not name the member and its fault.
#include "zip_file.hpp"

#include <algorithm>
#include <limits>
#include <new>
#include <string_view>

#define ZLIB_CONST
#include <zlib.h>

TENON_NAMESPACE_BEGIN

namespace state {

namespace {

// Records of the format, by their first four bytes, and the bytes of each before names and comments.
constexpr std::string_view kLocal = "PK\3\4", kCentral = "PK\1\2", kEnd = "PK\5\6";
constexpr std::string_view kEnd64 = "PK\6\6", kEnd64Locator = "PK\6\7";
constexpr int64_t kLocalBytes = 30, kCentralBytes = 46, kEndBytes = 22;
constexpr int64_t kEnd64Bytes = 56, kEnd64LocatorBytes = 20;
constexpr int64_t kMostComment = 0xffff;
constexpr uint32_t kIn64 = 0xffffffffu;  // the number is in the record of 64 bits
constexpr uint16_t kIn64Short = 0xffffu;
constexpr uint16_t kStored = 0, kDeflated = 8;
// The largest ratio to which deflate unpacks, and zlib's smallest buffer.
constexpr int64_t kMostRatio = 1032;

uint64_t number(std::string_view bytes, size_t at, size_t count) {
  uint64_t value = 0;
  for (size_t i = count; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}
uint16_t short_at(std::string_view bytes, size_t at) {
  return static_cast<uint16_t>(number(bytes, at, 2));
}
uint32_t word_at(std::string_view bytes, size_t at) {
  return static_cast<uint32_t>(number(bytes, at, 4));
}
// A number that is too large for a size becomes the largest size, which fits no file.
int64_t size_at(std::string_view bytes, size_t at, size_t count) {
  const uint64_t value = number(bytes, at, count);
  constexpr auto most = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  return static_cast<int64_t>(std::min(value, most));
}

class Directory {
 public:
  explicit Directory(const ByteSource& source) : source_(source) {}

  std::vector<ZipMember> read() {
    find_end();
    if (offset_ > end_ || bytes_ > end_ - offset_)
      throw Fault("the directory of the zip file is not within the file", true);
    if (count_ > bytes_ / kCentralBytes)
      throw Fault("the directory has fewer members than it says");
    const std::string text = read_bytes(offset_, bytes_);
    std::string_view rest = text;
    for (int64_t i = 0; i < count_; ++i) members_.push_back(take_member(rest));
    if (!rest.empty()) throw Fault("the directory has more members than it says");
    for (ZipMember& member : members_) find_data(member);
    check_names();
    check_overlaps();
    return std::move(members_);
  }

 private:
  std::string read_bytes(int64_t offset, int64_t count) const {
    std::string bytes(static_cast<size_t>(count), '\0');
    source_.read_at(bytes.data(), count, offset);
    return bytes;
  }

  // The last record of the file, behind which there is its comment alone.
  void find_end() {
    const int64_t size = source_.size(), tail = std::min(size, kEndBytes + kMostComment);
    const std::string bytes = read_bytes(size - tail, tail);
    for (int64_t at = tail - kEndBytes; at >= 0; --at) {
      const std::string_view record = std::string_view(bytes).substr(static_cast<size_t>(at));
      if (record.substr(0, 4) != kEnd || short_at(record, 20) != tail - at - kEndBytes) continue;
      end_ = size - tail + at;
      const uint16_t disk = short_at(record, 4), first_disk = short_at(record, 6);
      count_ = short_at(record, 10);
      bytes_ = word_at(record, 12);
      offset_ = word_at(record, 16);
      if (count_ == kIn64Short || bytes_ == kIn64 || offset_ == kIn64) return find_end64();
      if (disk != 0 || first_disk != 0 || short_at(record, 8) != count_)
        throw Fault("the zip file is one of several parts");
      return;
    }
    throw Fault("this is not a whole zip file: the record at its end is missing", true);
  }
  void find_end64() {
    if (end_ < kEnd64LocatorBytes) throw Fault("the zip file has no record of 64-bit sizes");
    const std::string locator = read_bytes(end_ - kEnd64LocatorBytes, kEnd64LocatorBytes);
    // Without it the numbers are what they are.
    if (std::string_view(locator).substr(0, 4) != kEnd64Locator) return;
    const int64_t at = size_at(locator, 8, 8);
    if (at > end_ - kEnd64LocatorBytes - kEnd64Bytes)
      throw Fault("the record of 64-bit sizes is not within the file");
    const std::string record = read_bytes(at, kEnd64Bytes);
    if (std::string_view(record).substr(0, 4) != kEnd64)
      throw Fault("the zip file has no record of 64-bit sizes");
    end_ = at;
    count_ = size_at(record, 32, 8);
    bytes_ = size_at(record, 40, 8);
    offset_ = size_at(record, 48, 8);
    if (word_at(record, 16) != 0 || word_at(record, 20) != 0 || size_at(record, 24, 8) != count_)
      throw Fault("the zip file is one of several parts");
  }

  static ZipMember take_member(std::string_view& rest) {
    if (static_cast<int64_t>(rest.size()) < kCentralBytes || rest.substr(0, 4) != kCentral)
      throw Fault("the directory of the zip file is broken");
    const size_t name = short_at(rest, 28), extra = short_at(rest, 30),
                 comment = short_at(rest, 32);
    const size_t whole = static_cast<size_t>(kCentralBytes) + name + extra + comment;
    if (rest.size() < whole) throw Fault("the directory of the zip file is broken");
    ZipMember member;
    member.name = std::string(rest.substr(static_cast<size_t>(kCentralBytes), name));
    const uint16_t flags = short_at(rest, 8), method = short_at(rest, 10);
    if ((flags & 1) != 0) throw Fault(quoted_text(member.name) + " is encrypted");
    if (method != kStored && method != kDeflated) {
      throw Fault(quoted_text(member.name) + " is compressed by method " + std::to_string(method) +
                  "; 0 (stored) and 8 (deflated) are read");
    }
    member.deflated = method == kDeflated;
    member.checksum = word_at(rest, 16);
    member.compressed = word_at(rest, 20);
    member.size = word_at(rest, 24);
    member.header = word_at(rest, 42);
    take_sizes64(member, rest.substr(static_cast<size_t>(kCentralBytes) + name, extra));
    check_sizes(member);
    rest.remove_prefix(whole);
    return member;
  }
  // The extra field 1 has those of the three numbers that do not fit into 32 bits.
  static void take_sizes64(ZipMember& member, std::string_view extra) {
    while (extra.size() >= 4) {
      const uint16_t id = short_at(extra, 0);
      const size_t length = short_at(extra, 2);
      if (length > extra.size() - 4)
        throw Fault(quoted_text(member.name) + " has a broken extra field");
      std::string_view field = extra.substr(4, length);
      extra.remove_prefix(4 + length);
      if (id != 1) continue;
      for (int64_t* size : {&member.size, &member.compressed, &member.header}) {
        if (*size != kIn64) continue;
        if (field.size() < 8) throw Fault(quoted_text(member.name) + " has a broken extra field");
        *size = size_at(field, 0, 8);
        field.remove_prefix(8);
      }
    }
  }
  static void check_sizes(const ZipMember& member) {
    if (member.deflated ? member.size / kMostRatio > member.compressed
                        : member.size != member.compressed) {
      throw Fault(quoted_text(member.name) + " claims " + std::to_string(member.size) +
                  " bytes, which " + std::to_string(member.compressed) + " cannot hold");
    }
  }

  void find_data(ZipMember& member) const {
    const auto refuse = [&](const char* what) { throw Fault(quoted_text(member.name) + what); };
    if (member.header > offset_ - kLocalBytes) refuse(" is not within the file");
    const std::string header = read_bytes(member.header, kLocalBytes);
    if (std::string_view(header).substr(0, 4) != kLocal)
      refuse(" has no header where it should be");
    const int64_t name = short_at(header, 26), extra = short_at(header, 28);
    member.data = member.header + kLocalBytes + name + extra;
    if (member.data > offset_ || member.compressed > offset_ - member.data)
      refuse(" is not within the file");
    if (read_bytes(member.header + kLocalBytes, name) != member.name)
      refuse(" has another name in its header");
  }
  void check_names() const {
    std::vector<std::string> names;
    for (const ZipMember& member : members_) names.push_back(member.name);
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice != names.end()) throw Fault(quoted_text(*twice) + " is there twice");
  }
  void check_overlaps() {
    std::sort(members_.begin(), members_.end(),
              [](const ZipMember& a, const ZipMember& b) { return a.header < b.header; });
    for (size_t i = 1; i < members_.size(); ++i) {
      if (members_[i - 1].data + members_[i - 1].compressed > members_[i].header)
        throw Fault(quoted_text(members_[i - 1].name) + " and " + quoted_text(members_[i].name) +
                    " share bytes of the file");
    }
  }

  const ByteSource& source_;
  int64_t end_ = 0;  // offset of the last record
  int64_t count_ = 0, bytes_ = 0, offset_ = 0;
  std::vector<ZipMember> members_;
};

}  // namespace

std::vector<ZipMember> read_zip(const ByteSource& source) { return Directory(source).read(); }

// A deflated stream that zlib unpacks into the caller's memory, piece by piece.
class ZipContents::Inflater : public z_stream {
 public:
  Inflater() : z_stream{} {
    constexpr int raw_window = -15;
    if (inflateInit2(this, raw_window) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(this); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Until the output is full or the input is used up; true at the end of the stream.
  bool run() {
    const int status = inflate(this, Z_NO_FLUSH);
    if (status == Z_STREAM_END) return true;
    if (status == Z_MEM_ERROR) throw std::bad_alloc();
    if (status != Z_OK && status != Z_BUF_ERROR)
      throw Fault("the compressed data is broken: " +
                  std::string(msg != nullptr ? msg : "it needs a dictionary"));
    return false;
  }
};

ZipContents::ZipContents(const ByteSource& source, const ZipMember& member)
    : source_(source),
      member_(member),
      inflater_(member.deflated ? std::make_unique<Inflater>() : nullptr) {}
ZipContents::~ZipContents() = default;

void ZipContents::refuse(const std::string& what) const {
  throw Fault(quoted_text(member_.name) + " " + what);
}

void ZipContents::read(char* to, int64_t count) {
  if (count > member_.size - given_) refuse("ends before its data does");
  if (member_.deflated) {
    inflate_into(to, count);
  } else {
    source_.read_at(to, count, member_.data + given_);
  }
  given_ += count;
  constexpr int64_t most = std::numeric_limits<uInt>::max();
  for (; count > 0; count -= std::min(count, most), to += most) {
    checksum_ = static_cast<uint32_t>(crc32(checksum_, reinterpret_cast<const Bytef*>(to),
                                            static_cast<uInt>(std::min(count, most))));
    if (count <= most) break;
  }
}

void ZipContents::inflate_into(char* to, int64_t count) {
  constexpr int64_t piece = int64_t{256} * 1024;
  constexpr int64_t most = std::numeric_limits<uInt>::max();
  while (count > 0) {
    if (inflater_->avail_in == 0 && taken_ < member_.compressed) {
      const int64_t next = std::min(piece, member_.compressed - taken_);
      input_.resize(static_cast<size_t>(next));
      source_.read_at(input_.data(), next, member_.data + taken_);
      taken_ += next;
      inflater_->next_in = reinterpret_cast<const Bytef*>(input_.data());
      inflater_->avail_in = static_cast<uInt>(next);
    }
    const auto room = static_cast<uInt>(std::min(count, most));
    inflater_->next_out = reinterpret_cast<Bytef*>(to);
    inflater_->avail_out = room;
    const uInt before = inflater_->avail_in;
    if (!ended_) ended_ = inflater_->run();
    const uInt made = room - inflater_->avail_out;
    if (made == 0 && before == inflater_->avail_in && (ended_ || taken_ == member_.compressed))
      refuse("ends before its data does");
    to += made;
    count -= made;
  }
}

void ZipContents::finish() {
  if (given_ != member_.size) refuse("has more data than its array");
  if (checksum_ != member_.checksum) refuse("is damaged: its checksum differs");
}

std::string zip_contents(const ByteSource& source, const ZipMember& member) {
  std::string text(static_cast<size_t>(member.size), '\0');
  ZipContents contents(source, member);
  contents.read(text.data(), member.size);
  contents.finish();
  return text;
}

void ZipWriter::put(uint64_t value, int bytes, std::string& to) const {
  for (int i = 0; i < bytes; ++i) to += static_cast<char>(value >> (8 * i) & 0xff);
}

// The fields that headers and directory share, from the needed version to the length of the name.
void ZipWriter::put_facts(const ZipMember& member, std::string& to) const {
  constexpr uint16_t version = 20, first_date = 0x21;  // 1980-01-01: files of equal data are equal
  constexpr uint16_t utf8_name = 1 << 11;              // else readers take names for code page 437
  put(version, 2, to);
  put(utf8_name, 2, to);
  put(member.deflated ? kDeflated : kStored, 2, to);
  put(0, 2, to);
  put(first_date, 2, to);
  put(member.checksum, 4, to);
  put(static_cast<uint64_t>(member.compressed), 4, to);
  put(static_cast<uint64_t>(member.size), 4, to);
  put(member.name.size(), 2, to);
}

void ZipWriter::add(const std::string& name, const std::string& contents) {
  constexpr auto most = static_cast<size_t>(kIn64) - 1;
  if (name.size() > kIn64Short || contents.size() > most)
    throw Fault(quoted_text(name) + " is larger than the format holds: write a safetensors file");
  ZipMember member;
  member.name = name;
  member.deflated = deflate_;
  member.size = static_cast<int64_t>(contents.size());
  member.header = static_cast<int64_t>(file_.size());
  const auto* bytes = reinterpret_cast<const Bytef*>(contents.data());
  member.checksum = static_cast<uint32_t>(crc32(0, bytes, static_cast<uInt>(contents.size())));
  std::string compressed;
  if (deflate_) {
    z_stream stream{};
    constexpr int raw_window = -15, memory = 8;
    if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, raw_window, memory,
                     Z_DEFAULT_STRATEGY) != Z_OK)
      throw std::bad_alloc();
    compressed.resize(deflateBound(&stream, static_cast<uLong>(contents.size())));
    stream.next_in = bytes;
    stream.avail_in = static_cast<uInt>(contents.size());
    stream.next_out = reinterpret_cast<Bytef*>(compressed.data());
    stream.avail_out = static_cast<uInt>(std::min(compressed.size(), most));
    deflate(&stream, Z_FINISH);
    compressed.resize(stream.total_out);
    deflateEnd(&stream);
  }
  const std::string& stored = deflate_ ? compressed : contents;
  member.compressed = static_cast<int64_t>(stored.size());
  file_ += kLocal;
  put_facts(member, file_);
  put(0, 2, file_);
  file_ += name;
  file_ += stored;
  members_.push_back(std::move(member));
}

std::string ZipWriter::finish() {
  const size_t directory = file_.size();
  for (const ZipMember& member : members_) {
    constexpr uint16_t made_by = 20;
    constexpr uint32_t owner_reads_and_writes = 0600u << 16;
    file_ += kCentral;
    put(made_by, 2, file_);
    put_facts(member, file_);
    put(0, 2 + 2 + 2 + 2, file_);  // extra field, comment, disk, internal attributes
    put(owner_reads_and_writes, 4, file_);
    put(static_cast<uint64_t>(member.header), 4, file_);
    file_ += member.name;
  }
  const size_t bytes = file_.size() - directory;
  if (members_.size() >= kIn64Short || file_.size() >= kIn64)
    throw Fault("the file is larger than 4 GiB: write a safetensors file");
  file_ += kEnd;
  put(0, 4, file_);
  put(members_.size(), 2, file_);
  put(members_.size(), 2, file_);
  put(bytes, 4, file_);
  put(directory, 4, file_);
  put(0, 2, file_);
  return std::move(file_);
}

}  // namespace state

TENON_NAMESPACE_END
