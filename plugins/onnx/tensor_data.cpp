#include "tensor_data.hpp"

#include <cstring>
#include <memory>

#include <protozero/exception.hpp>
#include <protozero/varint.hpp>

#include <tenon/error.hpp>

namespace onnx {

namespace {

using tenon::DType, tenon::Tensor;

constexpr DType kDTypes[] = {
    DType::none, DType::f32,  DType::u8,      DType::i8,      DType::u16,
    DType::i16,  DType::i32,  DType::i64,     DType::none,    DType::boolean,
    DType::f16,  DType::f64,  DType::u32,     DType::u64,     DType::c64,
    DType::c128, DType::bf16, DType::f8_e4m3, DType::none,    DType::f8_e5m2,
    DType::none, DType::none, DType::none,    DType::f4_e2m1, DType::f8_e8m0};
// Types of which a byte has two elements, the first in its lower half. Integers of 4 bits become those of 8.
constexpr int64_t kUint4 = 21, kInt4 = 22, kFloat4 = 23;
constexpr const char* kTypeTexts[] = {
    "undefined",      "float",    "uint8",        "int8",           "uint16",
    "int16",          "int32",    "int64",        "string",         "bool",
    "float16",        "double",   "uint32",       "uint64",         "complex64",
    "complex128",     "bfloat16", "float8e4m3fn", "float8e4m3fnuz", "float8e5m2",
    "float8e5m2fnuz", "uint4",    "int4",         "float4e2m1",     "float8e8m0"};

[[noreturn]] void refuse(const TensorData& data, const std::string& what) {
  throw tenon::ValueError("tensor '" + std::string(data.name) + "': " + what);
}

// Elements of the shape; refuses one that is negative or whose bytes do not fit.
int64_t count_of(const TensorData& data, int64_t element_bytes) {
  int64_t count = 1;
  for (const int64_t size : data.dims) {
    if (size < 0) refuse(data, "a dimension is " + std::to_string(size));
    if (__builtin_mul_overflow(count, size, &count)) refuse(data, "its dimensions are too large");
  }
  int64_t bytes = 0;
  if (__builtin_mul_overflow(count, element_bytes, &bytes))
    refuse(data, "its dimensions are too large");
  return count;
}

// Reads numbers of a list, packed or not, as their bits.
class Numbers {
 public:
  explicit Numbers(const TensorData& data) : data_(data), packed_(data.packed) {}
  int64_t count() const {
    if (data_.packed.empty()) return static_cast<int64_t>(data_.numbers.size());
    if (fixed() > 0) {
      if (packed_.size() % fixed() != 0) refuse(data_, "its list of numbers ends early");
      return static_cast<int64_t>(packed_.size() / fixed());
    }
    int64_t count = 0;
    for (const char c : packed_) count += (static_cast<unsigned char>(c) & 0x80) == 0 ? 1 : 0;
    return count;
  }
  uint64_t next() {
    if (data_.packed.empty()) return data_.numbers[place_++];
    if (fixed() > 0) {
      uint64_t bits = 0;
      std::memcpy(&bits, packed_.data(), fixed());
      packed_.remove_prefix(fixed());
      return bits;
    }
    const char* at = packed_.data();
    try {
      const uint64_t bits = protozero::decode_varint(&at, packed_.data() + packed_.size());
      packed_.remove_prefix(static_cast<size_t>(at - packed_.data()));
      return bits;
    } catch (const protozero::exception& cause) {
      refuse(data_, std::string("its list of numbers is not readable: ") + cause.what());
    }
  }

 private:
  size_t fixed() const { return data_.list == 4 ? 4 : data_.list == 10 ? 8 : 0; }
  const TensorData& data_;
  std::string_view packed_;
  size_t place_ = 0;
};

// The field that has the numbers of a dtype, and how many one element takes.
uint32_t list_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
    case DType::c64:
      return 4;
    case DType::i64:
      return 7;
    case DType::f64:
    case DType::c128:
      return 10;
    case DType::u32:
    case DType::u64:
      return 11;
    default:
      return 5;
  }
}

// Tensors of typed lists. The elements of bool, f16 and all integers of up to 32 bits are the lowest bytes
// of an int32.
Tensor from_list(const TensorData& data, DType dtype, int64_t count) {
  const int64_t each = tenon::is_complex(dtype) ? 2 : 1;
  Numbers numbers(data);
  if (data.list != 0 && data.list != list_of(dtype))
    refuse(data, std::string("its numbers are in a list for another type than ") +
                     tenon::dtype_text(dtype));
  if (numbers.count() != count * each)
    refuse(data, "it has " + std::to_string(numbers.count()) + " numbers, its dimensions need " +
                     std::to_string(count * each));
  Tensor result = tenon::empty_tensor(
      tenon::IntList(data.dims.data(), static_cast<int64_t>(data.dims.size())), dtype);
  auto* to = static_cast<char*>(result.view_record().data);
  const auto bytes = static_cast<size_t>(tenon::element_size(dtype) / each);
  for (int64_t i = 0; i < count * each; ++i, to += bytes) {
    uint64_t bits = numbers.next();
    if (dtype == DType::boolean) bits = bits != 0 ? 1 : 0;
    std::memcpy(to, &bits, bytes);
  }
  return result;
}

Tensor from_halves(const TensorData& data, DType dtype, int64_t count, std::string_view bytes) {
  std::string listed;
  if (!data.has_raw && !data.is_external) {
    Numbers numbers(data);
    if (data.list != 0 && data.list != 5)
      refuse(data, "its numbers are in a list for another type");
    for (int64_t left = numbers.count(); left > 0; --left)
      listed.push_back(static_cast<char>(numbers.next()));
    bytes = listed;
  }
  if (static_cast<uint64_t>(count / 2 + count % 2) != bytes.size())
    refuse(data, "it has " + std::to_string(bytes.size()) + " bytes, its dimensions need " +
                     std::to_string(count / 2 + count % 2));
  const Tensor result = tenon::empty_tensor(
      tenon::IntList(data.dims.data(), static_cast<int64_t>(data.dims.size())), dtype);
  auto* to = static_cast<unsigned char*>(result.view_record().data);
  for (int64_t i = 0; i < count; ++i) {
    const auto byte = static_cast<unsigned char>(bytes[static_cast<size_t>(i / 2)]);
    const unsigned half = i % 2 == 0 ? byte & 15U : byte >> 4U;
    to[i] = static_cast<unsigned char>(data.type == kInt4 && half > 7 ? half | 0xF0U : half);
  }
  return result;
}

void normalize_bools(const Tensor& tensor, int64_t count) {
  auto* bytes = static_cast<unsigned char*>(tensor.view_record().data);
  for (int64_t i = 0; i < count; ++i) bytes[i] = bytes[i] != 0 ? 1 : 0;
}

}  // namespace

DType dtype_of_type(int64_t type) {
  return type >= 0 && type < static_cast<int64_t>(std::size(kDTypes)) ? kDTypes[type] : DType::none;
}
int64_t type_of_dtype(DType dtype) {
  for (size_t i = 1; i < std::size(kDTypes); ++i) {
    if (kDTypes[i] == dtype) return static_cast<int64_t>(i);
  }
  return 0;
}
std::string type_text(int64_t type) {
  if (type >= 0 && type < static_cast<int64_t>(std::size(kTypeTexts))) return kTypeTexts[type];
  return std::to_string(type);
}

bool is_integer_of_4_bits(int64_t type) { return type == kUint4 || type == kInt4; }

Tensor make_tensor(const TensorData& data, const MappedFile& file, std::string_view bytes) {
  const DType dtype = data.type == kUint4  ? DType::u8
                      : data.type == kInt4 ? DType::i8
                                           : dtype_of_type(data.type);
  if (dtype == DType::none) {
    throw tenon::NotImplementedError("tensor '" + std::string(data.name) + "' is of type " +
                                     type_text(data.type) + ", which Tenon does not compute in");
  }
  const int64_t size = tenon::element_size(dtype);
  const int64_t count = count_of(data, size);
  if (data.type == kFloat4 || is_integer_of_4_bits(data.type))
    return from_halves(data, dtype, count, bytes);
  if (!data.has_raw && !data.is_external) return from_list(data, dtype, count);
  if (static_cast<uint64_t>(count * size) != bytes.size())
    refuse(data, "it has " + std::to_string(bytes.size()) + " bytes, its dimensions need " +
                     std::to_string(count * size));
  const tenon::IntList shape(data.dims.data(), static_cast<int64_t>(data.dims.size()));
  const auto alignment = static_cast<uintptr_t>(tenon::is_complex(dtype) ? size / 2 : size);
  const bool aligned = reinterpret_cast<uintptr_t>(bytes.data()) % alignment == 0;
  if (!aligned || count == 0 || dtype == DType::boolean) {
    Tensor copy = tenon::empty_tensor(shape, dtype);
    if (count > 0) std::memcpy(copy.view_record().data, bytes.data(), bytes.size());
    if (dtype == DType::boolean) normalize_bools(copy, count);
    return copy;
  }
  std::vector<int64_t> strides(data.dims.size());
  int64_t stride = 1;
  for (size_t i = strides.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= data.dims[i];
  }
  auto* owner = new std::shared_ptr<char>(file.bytes);
  return tenon::wrap_buffer(const_cast<char*>(bytes.data()), shape,
                            tenon::IntList(strides.data(), static_cast<int64_t>(strides.size())),
                            dtype, owner,
                            [](void* kept) { delete static_cast<std::shared_ptr<char>*>(kept); });
}

}  // namespace onnx
