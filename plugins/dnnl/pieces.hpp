// How a batch is cut for threads.
#pragma once

#include <algorithm>
#include <cstdint>

namespace onednn {

// A batch cut into pieces of equally many samples but for the last, by sizes alone: the number of
// threads changes no bit. Each piece is computed by one thread.
struct Samples {
  int64_t batch, each;
  Samples(int64_t whole, int64_t count) : batch(whole), each((whole + count - 1) / count) {}
  int64_t count() const { return (batch + each - 1) / each; }
  int64_t begin(int64_t piece) const { return piece * each; }
  int64_t of(int64_t piece) const { return std::min(each, batch - begin(piece)); }
  bool is_even() const { return batch % each == 0; }
};

}  // namespace onednn
