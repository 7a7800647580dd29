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
#include <memory>
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
constexpr uint16_t kSizes64 = 1;  // id of the extra field with them
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
  // The extra field has those of the three numbers that do not fit into 32 bits.
  static void take_sizes64(ZipMember& member, std::string_view extra) {
    while (extra.size() >= 4) {
      const uint16_t id = short_at(extra, 0);
      const size_t length = short_at(extra, 2);
      if (length > extra.size() - 4)
        throw Fault(quoted_text(member.name) + " has a broken extra field");
      std::string_view field = extra.substr(4, length);
      extra.remove_prefix(4 + length);
      if (id != kSizes64) continue;
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

namespace {

std::string deflated(const std::string& contents) {
  z_stream stream{};
  constexpr int raw_window = -15, memory = 8;
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, raw_window, memory,
                   Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  const auto end = [](z_stream* ended) { deflateEnd(ended); };
  const std::unique_ptr<z_stream, decltype(end)> ending(&stream, end);
  std::string compressed(deflateBound(&stream, contents.size()), '\0');
  stream.next_in = reinterpret_cast<const Bytef*>(contents.data());
  stream.next_out = reinterpret_cast<Bytef*>(compressed.data());
  // zlib counts what is available in 32 bits, and what is done in 64.
  constexpr size_t most = std::numeric_limits<uInt>::max();
  int status = Z_OK;
  while (status == Z_OK) {
    const size_t left = contents.size() - stream.total_in;
    stream.avail_in = static_cast<uInt>(std::min(left, most));
    stream.avail_out = static_cast<uInt>(std::min(compressed.size() - stream.total_out, most));
    status = deflate(&stream, left <= most ? Z_FINISH : Z_NO_FLUSH);
  }
  compressed.resize(stream.total_out);
  return compressed;
}

}  // namespace

void ZipWriter::put(uint64_t value, int bytes, std::string& to) {
  for (int i = 0; i < bytes; ++i) to += static_cast<char>(value >> (8 * i) & 0xff);
}
void ZipWriter::put_word(int64_t value, std::string& to) const {
  put(is_long(value) ? kIn64 : static_cast<uint64_t>(value), 4, to);
}

// The fields that headers and directory share, from the needed version to the length of the name.
void ZipWriter::put_facts(const ZipMember& member, std::string& to) const {
  constexpr uint16_t first_date = 0x21;    // 1980-01-01: files of equal data are equal
  constexpr uint16_t utf8_name = 1 << 11;  // else readers take names for code page 437
  constexpr uint16_t version = 20, with_64_bits = 45;
  const bool large = has_long_size(member) || is_long(member.header);
  put(large ? with_64_bits : version, 2, to);
  put(utf8_name, 2, to);
  put(member.deflated ? kDeflated : kStored, 2, to);
  put(0, 2, to);
  put(first_date, 2, to);
  put(member.checksum, 4, to);
  // A local header has both sizes in 64 bits or none.
  for (const int64_t size : {member.compressed, member.size})
    put(has_long_size(member) ? kIn64 : static_cast<uint64_t>(size), 4, to);
  put(member.name.size(), 2, to);
}
// The extra field of the numbers that do not fit: sizes, and in the directory the header's place.
std::string ZipWriter::numbers_of_64_bits(const ZipMember& member, bool in_directory) const {
  std::string numbers;
  if (has_long_size(member)) {
    put(static_cast<uint64_t>(member.size), 8, numbers);
    put(static_cast<uint64_t>(member.compressed), 8, numbers);
  }
  if (in_directory && is_long(member.header)) put(static_cast<uint64_t>(member.header), 8, numbers);
  std::string field;
  if (numbers.empty()) return field;
  put(kSizes64, 2, field);
  put(numbers.size(), 2, field);
  return field + numbers;
}

void ZipWriter::add(const std::string& name, const std::string& contents) {
  if (name.size() > kIn64Short)
    throw Fault("the name " + quoted_text(name) + " is longer than 65535 bytes");
  ZipMember member;
  member.name = name;
  member.deflated = deflate_;
  member.size = static_cast<int64_t>(contents.size());
  member.header = static_cast<int64_t>(file_.size());
  const auto* bytes = reinterpret_cast<const Bytef*>(contents.data());
  member.checksum = static_cast<uint32_t>(crc32_z(0, bytes, contents.size()));
  const std::string compressed = deflate_ ? deflated(contents) : std::string();
  const std::string& stored = deflate_ ? compressed : contents;
  member.compressed = static_cast<int64_t>(stored.size());
  const std::string extra = numbers_of_64_bits(member, false);
  file_ += kLocal;
  put_facts(member, file_);
  put(extra.size(), 2, file_);
  file_ += name;
  file_ += extra;
  file_ += stored;
  members_.push_back(std::move(member));
}

std::string ZipWriter::finish() {
  const auto directory = static_cast<int64_t>(file_.size());
  for (const ZipMember& member : members_) {
    constexpr uint16_t made_by = 20;
    constexpr uint32_t owner_reads_and_writes = 0600u << 16;
    const std::string extra = numbers_of_64_bits(member, true);
    file_ += kCentral;
    put(made_by, 2, file_);
    put_facts(member, file_);
    put(extra.size(), 2, file_);
    put(0, 2 + 2 + 2, file_);  // comment, disk, internal attributes
    put(owner_reads_and_writes, 4, file_);
    put_word(member.header, file_);
    file_ += member.name;
    file_ += extra;
  }
  const auto end = static_cast<int64_t>(file_.size());
  const uint64_t count = members_.size();
  const bool large = count >= kIn64Short || is_long(end);
  if (large) put_end64(directory, end);
  file_ += kEnd;
  put(0, 4, file_);
  for (int of = 0; of < 2; ++of) put(count >= kIn64Short ? kIn64Short : count, 2, file_);
  put_word(end - directory, file_);
  put_word(directory, file_);
  put(0, 2, file_);
  return std::move(file_);
}
void ZipWriter::put_end64(int64_t directory, int64_t end) {
  constexpr uint16_t version = 45;
  constexpr uint64_t bytes_behind_size = kEnd64Bytes - 12;
  file_ += kEnd64;
  put(bytes_behind_size, 8, file_);
  put(version, 2, file_);
  put(version, 2, file_);
  put(0, 4 + 4, file_);  // disks
  for (int of = 0; of < 2; ++of) put(members_.size(), 8, file_);
  put(static_cast<uint64_t>(end - directory), 8, file_);
  put(static_cast<uint64_t>(directory), 8, file_);
  file_ += kEnd64Locator;
  put(0, 4, file_);
  put(static_cast<uint64_t>(end), 8, file_);
  put(1, 4, file_);
}

}  // namespace state

TENON_NAMESPACE_END
