// Unpacks gzip members one after the other, up to a limit.
#include "gunzip.hpp"

#include <algorithm>
#include <limits>

#include "inflater.hpp"

namespace data {

Bytes gunzip(std::string_view bytes, int64_t most) {
  constexpr int64_t at_once = std::numeric_limits<uInt>::max();  // the most bytes that zlib takes
  const auto* input = reinterpret_cast<const Bytef*>(bytes.data());
  const auto size = static_cast<int64_t>(bytes.size());
  // There is room for one byte more than may be written.
  Bytes result(std::min(std::max<int64_t>(size * 4, 4096), most + 1));
  int64_t taken = 0, written = 0;
  Inflater stream;
  for (;;) {
    if (written == result.size()) result.resize(std::min(result.size() * 2, most + 1));
    const auto in = static_cast<uInt>(std::min(size - taken, at_once));
    const auto out = static_cast<uInt>(std::min(result.size() - written, at_once));
    stream.next_in = input + taken;
    stream.avail_in = in;
    stream.next_out = reinterpret_cast<Bytef*>(result.data()) + written;
    stream.avail_out = out;
    const bool ended = stream.run();
    taken += in - stream.avail_in;
    written += out - stream.avail_out;
    if (written > most) {
      throw Fault("it unpacks to more than " + std::to_string(most) +
                  " bytes: unpack it with gunzip, and read that file");
    }
    if (ended) {
      // Another member may follow; zeros may, as tapes have them.
      while (taken < size && bytes[static_cast<size_t>(taken)] == '\0') ++taken;
      if (taken == size) break;
      if (!is_gzip(bytes.substr(static_cast<size_t>(taken))))
        throw Fault("other data follows the compressed data");
      inflateReset(&stream);
    } else if (taken == size && stream.avail_out != 0) {
      throw Fault("the file ends in its compressed data", "", true);
    }
  }
  result.resize(written);
  return result;
}

}  // namespace data
