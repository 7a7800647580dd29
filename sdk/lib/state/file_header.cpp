// Headers of safetensors files: reading by the events of the host's parser, one pass, and writing.
#include "file_header.hpp"

#include <algorithm>
#include <optional>
#include <tuple>

#include <tenon/abi/json.h>
#include <tenon/error.hpp>
#include <tenon/kernel/shape.hpp>

#include "file_limits.hpp"
#include "lib/base/format.hpp"
#include "lib/base/text.hpp"

TENON_NAMESPACE_BEGIN

namespace state {

using lib::format_text;
using lib::quote;

namespace {

constexpr int64_t kDeepest = 10;  // object, tensor, and 8 levels of a field that is skipped

std::string shape_text(const FileEntry& entry) {
  const std::vector<int64_t>& shape = entry.shape;
  return kernel::shape_text(IntList(shape.data(), static_cast<int64_t>(shape.size())));
}

class HeaderReader {
 public:
  HeaderReader(const std::string& path, int64_t data_bytes)
      : path_(path), data_bytes_(data_bytes) {}

  FileHeader read(std::string_view text) {
    if (!lib::is_utf8(text)) fail("invalid header: it is invalid UTF-8");
    if (text.empty() || text.front() != '{')
      fail("invalid header: it must be an object and begin with '{'");
    scan(text);
    check_twice();
    const auto before = [](const FileEntry& a, const FileEntry& b) {
      return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
    };
    // Most files have their entries in the order of their data.
    if (!std::is_sorted(header_.entries.begin(), header_.entries.end(), before))
      std::sort(header_.entries.begin(), header_.entries.end(), before);
    check_ranges();
    return std::move(header_);
  }

 private:
  // The container whose members or elements are next.
  enum class Inside : uint8_t { Nothing, Header, Metadata, Tensor, Shape, Offsets, Skipped };
  enum class Field : uint8_t { Dtype, Shape, Offsets, Other };

  [[noreturn]] void fail(const std::string& fault) {
    failed_ = true;
    throw ValueError(invalid_text(path_, fault));
  }
  [[noreturn]] void fail(const char* what, const std::string& fault) {
    fail(what, header_.entries.back(), fault);
  }
  [[noreturn]] void fail(const char* what, const FileEntry& entry, const std::string& fault) {
    fail(format_text("{} of tensor {}: {}", what, quote(entry.name), fault));
  }
  [[noreturn]] void refuse_value(const char* found) {
    fail("invalid header", format_text("found {}, expected an object", found));
  }
  [[noreturn]] void refuse_number() {
    fail("invalid header", "sizes and offsets must be whole numbers from 0 on");
  }
  [[noreturn]] void refuse_metadata() {
    fail(format_text("invalid header: the metadata {} must be a string", quote(key_)));
  }
  [[noreturn]] void refuse_offsets() {
    fail("invalid header", "data_offsets must be [begin, end]");
  }

  void scan(std::string_view text) {
    tenon_json_events events{};
    events.size = sizeof events;
    events.self = this;
    events.begin = [](void* self, int32_t is_object, tenon_error** error) {
      return detail::guarded(error,
                             [&] { static_cast<HeaderReader*>(self)->begin(is_object != 0); });
    };
    events.end = [](void* self, tenon_error** error) {
      return detail::guarded(error, [&] { static_cast<HeaderReader*>(self)->end(); });
    };
    events.key = [](void* self, const char* key, int64_t length, tenon_error** error) {
      return detail::guarded(error, [&] {
        static_cast<HeaderReader*>(self)->key({key, static_cast<size_t>(length)});
      });
    };
    events.value = [](void* self, const tenon_value* value, tenon_error** error) {
      return detail::guarded(error, [&] { static_cast<HeaderReader*>(self)->value(*value); });
    };
    try {
      detail::check(service::documents().scan, text.data(), static_cast<int64_t>(text.size()),
                    kDeepest, static_cast<const tenon_json_events*>(&events));
    } catch (const ValueError& error) {
      if (failed_) throw;
      fail(format_text("invalid header: invalid JSON: {}", error.what()));
    }
  }

  // ---- events ----

  void begin(bool object) {
    switch (inside_) {
      case Inside::Nothing:
        inside_ = Inside::Header;
        return;
      case Inside::Header:
        if (key_ == kMetadataKey)
          begin_metadata(object);
        else
          begin_tensor(object);
        return;
      case Inside::Metadata:
        refuse_metadata();
      case Inside::Tensor:
        begin_field(object);
        return;
      case Inside::Shape:
      case Inside::Offsets:
        refuse_number();
      case Inside::Skipped:
        ++skipped_;
        return;
    }
  }
  void begin_metadata(bool object) {
    if (!object) fail("invalid header: __metadata__ must be an object");
    if (has_metadata_) fail("invalid header: __metadata__ is there twice");
    has_metadata_ = true;
    inside_ = Inside::Metadata;
  }
  void begin_tensor(bool object) {
    const int64_t most = most_tensors(data_bytes_);
    if (static_cast<int64_t>(header_.entries.size()) == most) {
      failed_ = true;
      throw ValueError(format_text(
          "cannot read {}: it has more than {} tensors, the most that are read of a file "
          "with {} bytes of data; join small tensors into fewer",
          quote(path_), most, data_bytes_));
    }
    header_.entries.emplace_back().name = std::move(key_);
    if (!object) refuse_value("an array");
    has_dtype_ = has_shape_ = has_offsets_ = false;
    inside_ = Inside::Tensor;
  }
  void begin_field(bool object) {
    if (field_ == Field::Dtype) fail("invalid header", "the dtype must be a string");
    if (field_ == Field::Shape && object) fail("invalid header", "the shape must be an array");
    if (field_ == Field::Offsets && object) refuse_offsets();
    offsets_ = 0;
    inside_ = field_ == Field::Shape     ? Inside::Shape
              : field_ == Field::Offsets ? Inside::Offsets
                                         : Inside::Skipped;
    skipped_ = 1;
  }

  void end() {
    switch (inside_) {
      case Inside::Shape:
        inside_ = Inside::Tensor;
        return;
      case Inside::Offsets:
        if (offsets_ != 2) refuse_offsets();
        inside_ = Inside::Tensor;
        return;
      case Inside::Skipped:
        if (--skipped_ == 0) inside_ = Inside::Tensor;
        return;
      case Inside::Tensor:
        require_fields();
        inside_ = Inside::Header;
        return;
      default:
        inside_ = Inside::Header;  // or the end of the header, with which the text ends
    }
  }

  void key(std::string_view text) {
    if (inside_ == Inside::Tensor)
      begin_member(text);
    else if (inside_ != Inside::Skipped)
      key_ = text;
  }
  void begin_member(std::string_view name) {
    const auto once = [&](bool& seen, Field field) {
      if (seen) fail("invalid header", format_text("the field '{}' is there twice", name));
      seen = true;
      return field;
    };
    field_ = name == "dtype"          ? once(has_dtype_, Field::Dtype)
             : name == "shape"        ? once(has_shape_, Field::Shape)
             : name == "data_offsets" ? once(has_offsets_, Field::Offsets)
                                      : Field::Other;
  }

  void value(const tenon_value& value) {
    const std::string_view text = value.tag == TENON_VALUE_STRING
                                      ? std::string_view(value.as.string, value.length)
                                      : std::string_view();
    switch (inside_) {
      case Inside::Nothing:
      case Inside::Skipped:
        return;
      case Inside::Header:
        if (key_ == kMetadataKey) fail("invalid header: __metadata__ must be an object");
        header_.entries.emplace_back().name = std::move(key_);
        refuse_value(value.tag == TENON_VALUE_STRING ? "a string"
                     : value.tag == TENON_VALUE_NONE ? "null"
                     : value.tag == TENON_VALUE_BOOL ? "a boolean"
                                                     : "a number");
      case Inside::Metadata:
        if (value.tag != TENON_VALUE_STRING) refuse_metadata();
        if (header_.metadata.size() == kMostMetadata)
          fail(format_text(
              "invalid header: it has more than {} pairs of metadata, the most that are "
              "read",
              kMostMetadata));
        header_.metadata.emplace_back(std::move(key_), text);
        return;
      case Inside::Tensor:
        set_field(value, text);
        return;
      case Inside::Shape:
        if (header_.entries.back().shape.size() == TENON_MAX_RANK)
          fail("invalid info", format_text("more than {} dimensions", TENON_MAX_RANK));
        header_.entries.back().shape.push_back(natural(value));
        return;
      case Inside::Offsets:
        if (offsets_ == 2) refuse_offsets();
        (++offsets_ == 1 ? header_.entries.back().begin : header_.entries.back().end) =
            natural(value);
    }
  }
  void set_field(const tenon_value& value, std::string_view text) {
    if (field_ == Field::Shape) fail("invalid header", "the shape must be an array");
    if (field_ == Field::Offsets) refuse_offsets();
    if (field_ != Field::Dtype) return;
    if (value.tag != TENON_VALUE_STRING) fail("invalid header", "the dtype must be a string");
    FileEntry& entry = header_.entries.back();
    entry.dtype = file_dtype(text);
    constexpr size_t longest = 64;
    if (entry.dtype == nullptr) entry.unknown_dtype = text.substr(0, longest);
  }
  int64_t natural(const tenon_value& value) {
    if (value.tag != TENON_VALUE_INT || value.as.integer < 0) refuse_number();
    return value.as.integer;
  }

  // ---- checks ----

  void require_fields() {
    for (const auto& [there, field] :
         {std::pair{has_dtype_, "dtype"}, std::pair{has_shape_, "shape"},
          std::pair{has_offsets_, "data_offsets"}}) {
      if (!there) fail("invalid header", format_text("the field '{}' is missing", field));
    }
  }

  template <class List, class Name>
  std::optional<std::string_view> twin(const List& list, Name&& name_of) {
    std::vector<std::string_view> names;
    names.reserve(list.size());
    for (const auto& item : list) names.push_back(name_of(item));
    std::sort(names.begin(), names.end());
    const auto found = std::adjacent_find(names.begin(), names.end());
    if (found == names.end()) return std::nullopt;
    return *found;
  }
  void check_twice() {
    if (const auto name =
            twin(header_.entries, [](const FileEntry& e) { return std::string_view(e.name); }))
      fail(format_text("invalid header: the tensor {} is there twice", quote(*name)));
    if (const auto key =
            twin(header_.metadata, [](const auto& pair) { return std::string_view(pair.first); }))
      fail(format_text("invalid header: the metadata {} is there twice", quote(*key)));
  }

  void check_ranges() {
    int64_t next = 0;
    for (const FileEntry& entry : header_.entries) {
      if (entry.begin != next || entry.end < entry.begin) {
        fail("invalid offset", entry,
             format_text("its data is at [{}, {}], the data before it ends at {}", entry.begin,
                         entry.end, next));
      }
      check_size(entry);
      next = entry.end;
    }
    if (next != data_bytes_) {
      fail(format_text("incomplete buffer: the header describes {} bytes of data, the file has {}",
                       next, data_bytes_));
    }
  }
  void check_size(const FileEntry& entry) {
    if (entry.dtype == nullptr) return;
    int64_t bits = entry.dtype->bits;
    bool overflow = false;
    for (const int64_t size : entry.shape)
      overflow = __builtin_mul_overflow(bits, size, &bits) || overflow;
    const bool empty = std::count(entry.shape.begin(), entry.shape.end(), 0) != 0;
    if (overflow && !empty) {
      fail("invalid info", entry,
           format_text("a tensor of shape {} has too many elements", shape_text(entry)));
    }
    if (empty) bits = 0;
    if (bits % 8 == 0 && bits / 8 == entry.end - entry.begin) return;
    fail("invalid info", entry,
         format_text("{} of shape {} does not take the {} bytes of its range", entry.dtype->text,
                     shape_text(entry), entry.end - entry.begin));
  }

  const std::string& path_;
  int64_t data_bytes_;
  FileHeader header_;
  std::string key_;
  Inside inside_ = Inside::Nothing;
  Field field_ = Field::Other;
  int64_t skipped_ = 0;  // containers of a field that is skipped
  int offsets_ = 0;
  bool has_dtype_ = false, has_shape_ = false, has_offsets_ = false;
  bool has_metadata_ = false;
  bool failed_ = false;  // by a fault of the header, not of the JSON
};

void append_string(std::string& json, std::string_view text) {
  constexpr char kDigits[] = "0123456789abcdef";
  json += '"';
  for (const char character : text) {
    const auto code = static_cast<unsigned char>(character);
    if (character == '"' || character == '\\') {
      json += '\\';
      json += character;
    } else if (code < 0x20) {
      json += "\\u00";
      json += kDigits[code >> 4];
      json += kDigits[code & 15];
    } else {
      json += character;
    }
  }
  json += '"';
}

}  // namespace

std::string invalid_text(const std::string& path, const std::string& fault) {
  return format_text("{} is not a valid tensor file: {}", quote(path), fault);
}

FileHeader read_header(const std::string& path, std::string_view text, int64_t data_bytes) {
  return HeaderReader(path, data_bytes).read(text);
}

std::string header_text(const FileHeader& header, size_t alignment) {
  std::string json = "{";
  if (!header.metadata.empty()) {
    append_string(json, kMetadataKey);
    json += ':';
    char before = '{';
    for (const auto& [key, value] : header.metadata) {
      json += before;
      append_string(json, key);
      json += ':';
      append_string(json, value);
      before = ',';
    }
    json += '}';
  }
  for (const FileEntry& entry : header.entries) {
    if (json.size() > 1) json += ',';
    append_string(json, entry.name);
    json.append(R"(:{"dtype":")").append(entry.dtype->text).append(R"(","shape":[)");
    for (size_t i = 0; i < entry.shape.size(); ++i)
      json += (i == 0 ? "" : ",") + std::to_string(entry.shape[i]);
    json += format_text("],\"data_offsets\":[{},{}]}}", entry.begin, entry.end);
  }
  json += '}';
  constexpr size_t length = kLengthBytes;
  json.resize((length + json.size() + alignment - 1) / alignment * alignment - length, ' ');
  return json;
}

}  // namespace state

TENON_NAMESPACE_END
