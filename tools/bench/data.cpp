// Readers of data: bytes of text in a second, each beside the time that reading the file takes.
#include <cstdio>
#include <fstream>
#include <string>
#include <unistd.h>

#include "bench.hpp"

namespace {

using bench::keep;
using bench::State;

// A file for the length of the program, as sensors and NumPy write numbers.
class Table {
 public:
  explicit Table(const char* format) {
    char name[] = "/tmp/tenon-bench-XXXXXX";
    const int file = mkstemp(name);
    if (file < 0) throw tenon::IOError("bench: cannot create a file in /tmp");
    close(file);
    path_ = name;
    constexpr size_t bytes = 100'000'000;
    constexpr int columns = 20;
    std::string rows, text;
    char number[32];
    const tenon::Draws draws{7, 0};
    for (int64_t i = 0; i < int64_t{1000} * columns; ++i) {
      std::snprintf(number, sizeof(number), format, draws.uniform(i) * 200 - 100);
      rows += number;
      rows += i % columns == columns - 1 ? '\n' : ',';
    }
    while (text.size() < bytes) text += rows;
    std::ofstream(path_, std::ios::binary) << text;
    size_ = static_cast<int64_t>(text.size());
  }
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;
  ~Table() { unlink(path_.c_str()); }
  const std::string& path() const { return path_; }
  int64_t size() const { return size_; }

 private:
  std::string path_;
  int64_t size_ = 0;
};

const Table& table(State& state) {
  if (state.range(0) == 0) {
    static const Table fractions("%.6f");
    return fractions;
  }
  if (state.range(0) == 1) {
    static const Table whole("%.0f");
    return whole;
  }
  static const Table all_digits("%.17g");
  return all_digits;
}

// 0: six decimals, 1: whole numbers, 2: all 17 digits.
void read_csv(State& state) {
  const Table& file = table(state);
  for (auto _ : state) keep(tenon::data::read_csv(file.path()));
  state.SetBytesProcessed(state.iterations() * file.size());
}
BENCHMARK(read_csv)->Arg(0)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

void read_csv_samples(State& state) {
  const Table& file = table(state);
  for (auto _ : state) keep(std::get<0>(tenon::data::csv(file.path())));
  state.SetBytesProcessed(state.iterations() * file.size());
}
BENCHMARK(read_csv_samples)->Arg(0)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

// The limit: the bytes alone.
void read_file_alone(State& state) {
  const Table& file = table(state);
  for (auto _ : state) {
    std::ifstream stream(file.path(), std::ios::binary);
    std::string text(static_cast<size_t>(file.size()), '\0');
    stream.read(text.data(), file.size());
    benchmark::DoNotOptimize(text.data());
  }
  state.SetBytesProcessed(state.iterations() * file.size());
}
BENCHMARK(read_file_alone)->Arg(0)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
