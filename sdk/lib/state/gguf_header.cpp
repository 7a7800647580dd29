// Reads the header of GGUF files, versions 2 and 3: counts, key-value pairs that are skipped, tensors.
#include "gguf_header.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <unordered_set>

#include <tenon/abi/tensor.h>

#include "file_limits.hpp"

TENON_NAMESPACE_BEGIN

namespace state {

namespace {

constexpr GgufType kTypes[] = {
    {0, "f32", TENON_F32, 1, 4},          {1, "f16", TENON_F16, 1, 2},
    {kGgufQ4, "q4_0", TENON_F32, 32, 18}, {kGgufQ8, "q8_0", TENON_F32, 32, 34},
    {24, "i8", TENON_I8, 1, 1},           {25, "i16", TENON_I16, 1, 2},
    {26, "i32", TENON_I32, 1, 4},         {27, "i64", TENON_I64, 1, 8},
    {28, "f64", TENON_F64, 1, 8},         {30, "bf16", TENON_BF16, 1, 2}};

// Kinds of values: bytes of each, 0 for a text and a list.
constexpr int64_t kValueBytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
constexpr uint32_t kUint32 = 4, kText = 8, kList = 9;
constexpr int kDeepestList = 4;  // lists within lists

class Gguf {
 public:
  explicit Gguf(const ByteSource& source) : source_(source) {}

  std::vector<GgufEntry> read() {
    if (number<uint32_t>() != 0x46554747) throw Fault("it does not begin with GGUF");
    const auto version = number<uint32_t>();
    if (version < 2 || version > 3)
      throw Fault("version " + std::to_string(version) + " is not read; 2 and 3 are");
    const auto tensors = number<uint64_t>(), pairs = number<uint64_t>();
    if (tensors > static_cast<uint64_t>(most_tensors(source_.size())))
      throw Fault("it says that it has " + std::to_string(tensors) + " tensors");
    for (uint64_t i = 0; i < pairs; ++i) skip_pair();
    for (uint64_t i = 0; i < tensors; ++i) entries_.push_back(entry());
    place_data();
    return std::move(entries_);
  }

 private:
  // ---- bytes, by a buffer: a vocabulary has 100,000 texts ----

  void take(void* to, int64_t bytes) {
    if (bytes > source_.size() - at_) throw Fault("it ends in its header", true);
    char* next = static_cast<char*>(to);
    while (bytes > 0) {
      if (at_ < begin_ || at_ >= begin_ + static_cast<int64_t>(buffer_.size())) fill();
      const int64_t here = std::min(bytes, begin_ + static_cast<int64_t>(buffer_.size()) - at_);
      std::memcpy(next, buffer_.data() + (at_ - begin_), static_cast<size_t>(here));
      next += here;
      at_ += here;
      bytes -= here;
    }
  }
  void fill() {
    constexpr int64_t piece = int64_t{64} << 10;
    begin_ = at_;
    buffer_.resize(static_cast<size_t>(std::min(piece, source_.size() - at_)));
    source_.read_at(buffer_.data(), static_cast<int64_t>(buffer_.size()), begin_);
  }
  template <class Number>
  Number number() {
    Number value{};
    take(&value, sizeof value);
    return value;
  }
  void skip(uint64_t bytes) {
    if (bytes > static_cast<uint64_t>(source_.size() - at_))
      throw Fault("it ends in its header", true);
    at_ += static_cast<int64_t>(bytes);
  }
  std::string text() {
    const auto length = number<uint64_t>();
    constexpr uint64_t longest = 65'535;
    if (length > longest)
      throw Fault("a name has " + std::to_string(length) + " bytes, at most 65535 are read");
    std::string value(length, '\0');
    take(value.data(), static_cast<int64_t>(length));
    return value;
  }

  // ---- pairs ----

  void skip_pair() {
    const std::string key = text();
    const auto kind = number<uint32_t>();
    if (key == "general.alignment" && kind == kUint32) {
      alignment_ = number<uint32_t>();
      if (alignment_ == 0 || (alignment_ & (alignment_ - 1)) != 0)
        throw Fault("its alignment is " + std::to_string(alignment_) + ", not a power of two");
      return;
    }
    skip_value(kind, 0);
  }
  void skip_value(uint32_t kind, int depth) {
    if (kind >= std::size(kValueBytes) || depth > kDeepestList)
      throw Fault("a value is of the unknown kind " + std::to_string(kind));
    if (kind == kText) return skip(number<uint64_t>());
    if (kind != kList) return skip(static_cast<uint64_t>(kValueBytes[kind]));
    const auto items = number<uint32_t>();
    const auto count = number<uint64_t>();
    // Each item takes a byte at least: a list cannot be longer than the file.
    if (count > static_cast<uint64_t>(source_.size() - at_))
      throw Fault("it ends in its header", true);
    if (items < std::size(kValueBytes) && kValueBytes[items] > 0)
      return skip(count * static_cast<uint64_t>(kValueBytes[items]));
    for (uint64_t i = 0; i < count; ++i) skip_value(items, depth + 1);
  }

  // ---- tensors ----

  GgufEntry entry() {
    GgufEntry entry;
    entry.name = text();
    if (!names_.insert(entry.name).second)
      throw Fault("two tensors have the name " + quoted_text(entry.name));
    const auto refuse = [&](const std::string& fault) {
      throw Fault("tensor " + quoted_text(entry.name) + " " + fault);
    };
    const auto rank = number<uint32_t>();
    if (rank > TENON_MAX_RANK) refuse("has " + std::to_string(rank) + " dimensions");
    int64_t count = 1;
    bool overflow = false;
    for (uint32_t i = 0; i < rank; ++i) {
      const auto size = number<int64_t>();
      if (size < 0) refuse("has a negative size");
      overflow = __builtin_mul_overflow(count, size, &count) || overflow;
      entry.shape.push_back(size);
    }
    // Memory's fastest dimension is the first of the file.
    const int64_t row = rank == 0 ? 1 : entry.shape.front();
    std::reverse(entry.shape.begin(), entry.shape.end());
    entry.code = number<uint32_t>();
    entry.begin = number<int64_t>();
    const auto* const found =
        std::find_if(std::begin(kTypes), std::end(kTypes),
                     [&](const GgufType& type) { return type.code == entry.code; });
    if (entry.begin < 0 || overflow) refuse("has sizes or an offset beyond any file");
    if (found == std::end(kTypes)) return entry;
    entry.type = found;
    if (row % found->count != 0)
      refuse("has rows of " + std::to_string(row) + " elements, not whole blocks of " +
             std::to_string(found->count));
    if (__builtin_mul_overflow(count / found->count, found->bytes, &entry.bytes))
      refuse("has sizes or an offset beyond any file");
    return entry;
  }

  // Offsets count from the end of the header, rounded up.
  void place_data() {
    const int64_t step = alignment_;
    const int64_t data = (at_ + step - 1) / step * step;
    std::vector<const GgufEntry*> order;
    for (GgufEntry& entry : entries_) {
      if (entry.begin % step != 0)
        throw Fault("tensor " + quoted_text(entry.name) + " is not aligned to " +
                    std::to_string(step) + " bytes");
      if (entry.begin > source_.size() - data || entry.bytes > source_.size() - data - entry.begin)
        throw Fault("it ends in tensor " + quoted_text(entry.name), true);
      entry.begin += data;
      if (entry.bytes > 0) order.push_back(&entry);
    }
    std::sort(order.begin(), order.end(),
              [](const GgufEntry* a, const GgufEntry* b) { return a->begin < b->begin; });
    for (size_t i = 1; i < order.size(); ++i) {
      if (order[i - 1]->begin + order[i - 1]->bytes > order[i]->begin)
        throw Fault("tensors " + quoted_text(order[i - 1]->name) + " and " +
                    quoted_text(order[i]->name) + " share bytes of the file");
    }
  }

  const ByteSource& source_;
  int64_t at_ = 0, begin_ = 0;
  std::string buffer_;
  uint32_t alignment_ = 32;
  std::unordered_set<std::string> names_;
  std::vector<GgufEntry> entries_;
};

}  // namespace

std::vector<GgufEntry> read_gguf_header(const ByteSource& source) { return Gguf(source).read(); }

}  // namespace state

TENON_NAMESPACE_END
