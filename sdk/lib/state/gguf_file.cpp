// Tensors of GGUF files: numbers as they are, blocks as the numbers that they stand for.
#include <algorithm>
#include <cstring>

#include <tenon/abi/half.h>
#include <tenon/state/gguf_file.hpp>
#include <tenon/text.hpp>

#include "gguf_header.hpp"
#include "input_file.hpp"
#include "lib/base/format.hpp"
#include "lib/base/text.hpp"
#include "stored_file.hpp"

TENON_NAMESPACE_BEGIN

namespace state {

using lib::format_text;
using lib::quote;

namespace {

constexpr int64_t kBlock = 32;      // elements
constexpr int64_t kAtOnce = 4'096;  // blocks

// A scale of f16, then the elements: 32 bytes, or 16 of two elements each, the first half in the low bits.
void unpack_block(const uint8_t* block, uint32_t code, float* to) {
  tenon_f16 half{};
  std::memcpy(&half, block, sizeof half);
  const float scale = tenon_f16_to_f32(half);
  const uint8_t* const codes = block + sizeof half;
  for (int64_t i = 0; i < kBlock; ++i) {
    const int nibble = i < kBlock / 2 ? codes[i] & 15 : codes[i - kBlock / 2] >> 4;
    to[i] =
        scale * static_cast<float>(code == kGgufQ8 ? static_cast<int8_t>(codes[i]) : nibble - 8);
  }
}

// Empty: it can be read.
std::string fault_of(const GgufEntry& entry) {
  if (entry.type != nullptr) return "";
  return format_text("tensor {} is in blocks of kind {}; numbers, q8_0 and q4_0 are read",
                     quoted_text(entry.name), entry.code);
}

Tensor read_entry(const InputFile& file, const GgufEntry& entry) {
  if (const std::string fault = fault_of(entry); !fault.empty()) throw Fault(fault);
  const IntList shape(entry.shape.data(), static_cast<int64_t>(entry.shape.size()));
  Tensor tensor = empty_tensor(shape, static_cast<DType>(entry.type->dtype));
  void* const data = tensor.view_record().data;
  if (entry.type->count == 1) {
    file.read_at(data, entry.bytes, entry.begin);
    return tensor;
  }
  const int64_t width = entry.type->bytes, blocks = entry.bytes / width;
  std::vector<uint8_t> packed(static_cast<size_t>(std::min(blocks, kAtOnce) * width));
  auto* to = static_cast<float*>(data);
  for (int64_t first = 0; first < blocks; first += kAtOnce) {
    const int64_t count = std::min(kAtOnce, blocks - first);
    file.read_at(packed.data(), count * width, entry.begin + first * width);
    for (int64_t i = 0; i < count; ++i, to += kBlock)
      unpack_block(packed.data() + i * width, entry.code, to);
  }
  return tensor;
}

const GgufEntry& find(const std::string& path, const std::vector<GgufEntry>& entries,
                      const std::string& name) {
  std::vector<std::string> present;
  for (const GgufEntry& entry : entries) {
    if (entry.name == name) return entry;
    present.push_back(entry.name);
  }
  throw ValueError(
      format_text("{} holds no tensor {}{}", quote(path), quote(name), suggestion(name, present)));
}

std::string text_of(const std::string& path, std::string_view fault) {
  return format_text("{} is not a GGUF file that can be read: {}", quote(path), fault);
}

// Returns what `read` makes of the file and its entries; errors name the file.
template <class Read>
auto read_file(const std::string& path, const Read& read) {
  try {
    const InputFile file(path);
    return read(file, read_gguf_header(file));
  } catch (const Fault& fault) {
    fault.raise(text_of(path, fault.what()));
  }
}

}  // namespace

NamedTensors load_gguf(const std::string& path, const std::vector<std::string>& names) {
  return read_file(path, [&](const InputFile& file, const std::vector<GgufEntry>& entries) {
    NamedTensors tensors;
    for (const std::string& name : names)
      tensors.emplace_back(name, read_entry(file, find(path, entries, name)));
    for (size_t i = 0; names.empty() && i < entries.size(); ++i)
      tensors.emplace_back(entries[i].name, read_entry(file, entries[i]));
    return tensors;
  });
}

StoredFile read_stored_gguf(const std::string& path, const ChosenTensor& chosen) {
  return read_file(path, [&](const InputFile& file, const std::vector<GgufEntry>& entries) {
    StoredFile stored;
    for (const GgufEntry& entry : entries) {
      if (!chosen(stored.metadata, entry.name)) continue;
      if (const std::string fault = fault_of(entry); !fault.empty())
        stored.unreadable.emplace_back(entry.name, text_of(path, fault));
      else
        stored.tensors.emplace_back(entry.name, read_entry(file, entry));
    }
    return stored;
  });
}

}  // namespace state

TENON_NAMESPACE_END
