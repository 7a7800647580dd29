// Arrays and checkpoints of other programs: sharing one, opening one, converting eight-bit numbers.
#include <stdlib.h>
#include <string>
#include <unistd.h>

#include <tenon/dlpack.hpp>
#include <tenon/state/numpy_file.hpp>
#include <tenon/state/torch_file.hpp>

#include "bench.hpp"

namespace {

using bench::keep;
using bench::numbers;
using bench::State;
using tenon::Tensor;

constexpr int64_t kCount = int64_t{1} << 24;

void dlpack_round_trip(State& state) {
  const Tensor x = numbers({16, 16});
  for (auto _ : state) keep(tenon::from_dlpack(tenon::to_dlpack(x)));
}

// A file of 64 MiB, for the length of the program.
struct ArrayFile {
  ArrayFile() {
    char name[] = "/var/tmp/tenon-bench-XXXXXX";
    const int file = mkstemp(name);
    if (file < 0) throw tenon::IOError("bench: cannot create a file in /var/tmp");
    close(file);
    path = name;
    tenon::state::save_npy(path, numbers({kCount}));
  }
  ArrayFile(const ArrayFile&) = delete;
  ArrayFile& operator=(const ArrayFile&) = delete;
  ~ArrayFile() { unlink(path.c_str()); }
  std::string path;
};
void map_npy(State& state) {
  static const ArrayFile file;
  for (auto _ : state) keep(tenon::state::map_npy(file.path));
}

// BENCH_CHECKPOINT of the environment is a file of torch.save, which `compare` writes.
void map_checkpoint(State& state) {
  const char* path = secure_getenv("BENCH_CHECKPOINT");
  if (path == nullptr) return state.SkipWithError("BENCH_CHECKPOINT names no checkpoint");
  for (auto _ : state) benchmark::DoNotOptimize(tenon::state::map_torch(path).tensors.size());
}

void convert_f8(State& state) {
  const Tensor source = numbers({kCount}).to(tenon::f8_e4m3), target = numbers({kCount});
  for (auto _ : state) keep(Tensor(target).copy_(source));
}
// Reads a byte and writes four for each element.
struct WidenLoop {
  TENON_INLINE static void run(const uint8_t* from, uint32_t* to, int64_t count) {
    for (int64_t i = 0; i < count; ++i) to[i] = from[i];
  }
};
void limit_widen(State& state) {
  const Tensor source = tenon::full({kCount}, 7, tenon::u8), target = numbers({kCount});
  auto* const to = static_cast<uint32_t*>(target.view_record().data);
  for (auto _ : state) {
    tenon::kernel::run<WidenLoop>(source.data<const uint8_t>(), to, kCount);
    benchmark::ClobberMemory();
  }
}

BENCHMARK(dlpack_round_trip)->UseRealTime();
BENCHMARK(map_npy)->UseRealTime();
BENCHMARK(map_checkpoint)->UseRealTime();
BENCHMARK(convert_f8)->UseRealTime();
BENCHMARK(limit_widen)->UseRealTime();

}  // namespace
