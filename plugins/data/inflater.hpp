// A gzip stream that zlib decompresses, piece by piece.
#pragma once

#include <cstdint>
#include <string>

#define ZLIB_CONST
#include <zlib.h>

#include "file_fault.hpp"

namespace data {

// Decompresses into the caller's memory. Input and output are set as zlib has it: next_in,
// avail_in, next_out, avail_out.
class Inflater : public z_stream {
 public:
  Inflater() : z_stream{} {
    constexpr int gzip_window = 15 + 16;
    if (inflateInit2(this, gzip_window) != Z_OK) throw std::bad_alloc();
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

}  // namespace data
