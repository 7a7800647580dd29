#include "gunzip.hpp"

#include <algorithm>
#include <limits>

#include "inflater.hpp"

namespace data {

Bytes gunzip(std::string_view bytes) {
  constexpr int64_t most = std::numeric_limits<uInt>::max();  // that zlib takes at once
  const auto* input = reinterpret_cast<const Bytef*>(bytes.data());
  const auto size = static_cast<int64_t>(bytes.size());
  Bytes result(std::max<int64_t>(size * 4, 4096));
  int64_t taken = 0, written = 0;
  Inflater stream(Inflater::Format::gzip);
  for (;;) {
    if (written == result.size()) result.resize(result.size() * 2);
    const auto in = static_cast<uInt>(std::min(size - taken, most));
    const auto out = static_cast<uInt>(std::min(result.size() - written, most));
    stream.next_in = input + taken;
    stream.avail_in = in;
    stream.next_out = reinterpret_cast<Bytef*>(result.data()) + written;
    stream.avail_out = out;
    const bool ended = stream.run();
    taken += in - stream.avail_in;
    written += out - stream.avail_out;
    if (ended) {
      // Another member may follow; zeros may, as tapes have them.
      while (taken < size && bytes[static_cast<size_t>(taken)] == '\0') ++taken;
      if (taken == size) break;
      if (!is_gzip(bytes.substr(static_cast<size_t>(taken))))
        throw tenon::data::Fault("other data follows the compressed data");
      inflateReset(&stream);
    } else if (taken == size && stream.avail_out != 0) {
      throw tenon::data::Fault("the file ends in its compressed data", "", true);
    }
  }
  result.resize(written);
  return result;
}

}  // namespace data
