#include "summary.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include <tenon/typed_tensor.hpp>

TENON_NAMESPACE_BEGIN

namespace record {

namespace {

uint64_t mixed(uint64_t word) {
  word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9u;
  word = (word ^ (word >> 27)) * 0x94D049BB133111EBu;
  return word ^ (word >> 31);
}

// Four sums that do not wait for each other. The same on all processors of this byte order.
uint64_t hash_bytes(const void* data, size_t size) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  uint64_t sums[4] = {1, 2, 3, 4};
  size_t at = 0;
  for (; at + 32 <= size; at += 32) {
    uint64_t words[4];
    std::memcpy(words, bytes + at, 32);
    for (int i = 0; i < 4; ++i) {
      sums[i] = (sums[i] ^ words[i]) * 0x9E3779B97F4A7C15u;
      sums[i] ^= sums[i] >> 29;
    }
  }
  uint64_t hash = mixed(size);
  for (const uint64_t sum : sums) hash = mixed(hash ^ sum);
  for (; at < size; at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, bytes + at, std::min<size_t>(8, size - at));
    hash = mixed(hash ^ (word + at));
  }
  return hash == 0 ? 1 : hash;  // 0: not known
}

uint64_t hash_of(const Tensor& plain) {
  const DType dtype = plain.dtype();
  const Tensor packed = contiguous_as(plain, is_narrow(dtype) ? f32 : dtype);
  const auto size = static_cast<size_t>(packed.numel() * element_size(packed.dtype()));
  return hash_bytes(size == 0 ? nullptr : packed.view_record().data, size);
}

template <class T>
void read_elements(const T* data, int64_t parts, int64_t count, int64_t most, Summary& summary) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  double least = std::numeric_limits<double>::infinity(), greatest = -least, sum = 0;
  int64_t numbers = 0;
  for (int64_t i = 0; i < count * parts; ++i) {
    const auto number = static_cast<double>(data[i]);
    if (std::isnan(number)) continue;
    ++numbers;
    sum += number;
    least = number < least ? number : least;
    greatest = number > greatest ? number : greatest;
  }
  summary.nans = count * parts - numbers;
  summary.minimum = numbers > 0 ? least : nan;
  summary.maximum = numbers > 0 ? greatest : nan;
  summary.mean = numbers > 0 ? sum / static_cast<double>(numbers) : nan;
  for (const int64_t place : kept_places(count, most)) {
    for (int64_t part = 0; part < parts; ++part)
      summary.elements.push_back(static_cast<double>(data[place * parts + part]));
  }
}

}  // namespace

int64_t Summary::numel() const {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return count;
}

std::vector<int64_t> kept_places(int64_t count, int64_t most) {
  std::vector<int64_t> places;
  if (most <= 0) return places;
  const int64_t kept = std::min(count, most);
  places.reserve(static_cast<size_t>(kept));
  for (int64_t i = 0; i < kept; ++i) {
    if (count <= most) {
      places.push_back(i);
      continue;
    }
    // One of each stretch, chosen so that a column of a matrix is not all there is.
    const int64_t begin = count / kept * i + std::min(i, count % kept);
    const int64_t length = count / kept + (i < count % kept ? 1 : 0);
    places.push_back(begin + static_cast<int64_t>(mixed(static_cast<uint64_t>(i) + 1) %
                                                  static_cast<uint64_t>(length)));
  }
  return places;
}

uint64_t checksum(const Tensor& tensor) {
  try {
    return hash_of(ensure_tensor(tensor));
  } catch (const Error&) {
    return 0;
  }
}

Summary summarize(const Tensor& tensor, std::string name, int64_t most_elements) {
  Summary summary;
  summary.name = std::move(name);
  summary.dtype = dtype_text(tensor.dtype());
  summary.shape = tensor.sizes();
  try {
    const Tensor plain = ensure_tensor(tensor);
    summary.hash = hash_of(plain);
    const int64_t count = plain.numel();
    switch (plain.dtype()) {
      case f32:
        read_elements(contiguous_as(plain, f32).data<float>(), 1, count, most_elements, summary);
        break;
      case i64:
        read_elements(contiguous_as(plain, i64).data<int64_t>(), 1, count, most_elements, summary);
        break;
      case c64:
      case c128: {
        const Tensor whole = contiguous_as(plain, c128);
        read_elements(static_cast<const double*>(whole.view_record().data), 2, count, most_elements,
                      summary);
        break;
      }
      default:
        read_elements(contiguous_as(plain, f64).data<double>(), 1, count, most_elements, summary);
    }
  } catch (const Error&) {  // elements that only its plugin reads
    summary.hash = 0;
  }
  return summary;
}

}  // namespace record

TENON_NAMESPACE_END
