// Arrays in the format of .npy files.
#pragma once

#include <string>

#include <tenon/plugin.hpp>

namespace data {

// Bytes that are read from the first to the last: a file, or a member of one.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  virtual int64_t size() const = 0;
  // The next `count` bytes.
  virtual void read(char* to, int64_t count) = 0;
};

// The stream as one array. Throws Fault.
tenon::Tensor read_npy_array(ByteStream& stream);

// A tensor as a .npy file has it. TypeError for a dtype that the format does not have.
std::string npy_file(const tenon::Tensor& input);

}  // namespace data
