// A model of 1 GiB, saved and loaded, each beside the copy of such a file; and mapped.
#include <cstdio>
#include <string>
#include <unistd.h>
#include <vector>

#include <tenon/state/module_file.hpp>

#include "bench.hpp"

namespace {

using bench::State;
using tenon::Module;

// The model and its file, for the length of the program.
struct Saved {
  Saved() {
    char name[] = "/var/tmp/tenon-bench-XXXXXX";
    const int file = mkstemp(name);
    if (file < 0) throw tenon::IOError("bench: cannot create a file in /var/tmp");
    close(file);
    path = name;
    model = tenon::state::create_module(tenon::Json::parse(
        R"({"type": "Linear", "in_features": 16384, "out_features": 16384, "bias": false})"));
    tenon::state::save(model, path);
  }
  Saved(const Saved&) = delete;
  Saved& operator=(const Saved&) = delete;
  ~Saved() {
    unlink(path.c_str());
    unlink((path + ".copy").c_str());
  }
  Module model;
  std::string path;
};
const Saved& saved() {
  static const Saved one;
  return one;
}

void copy_file(const std::string& from, const std::string& to) {
  std::vector<char> bytes(1 << 20);
  std::FILE *source = std::fopen(from.c_str(), "rb"), *target = std::fopen(to.c_str(), "wb");
  if (source == nullptr || target == nullptr) throw tenon::IOError("bench: cannot copy " + from);
  while (const size_t got = std::fread(bytes.data(), 1, bytes.size(), source))
    std::fwrite(bytes.data(), 1, got, target);
  std::fclose(source);
  if (std::fclose(target) != 0) throw tenon::IOError("bench: cannot write " + to);
}

void state_save(State& state) {
  const Saved& file = saved();
  for (auto _ : state) tenon::state::save(file.model, file.path);
}
void state_load(State& state) {
  Module model = saved().model;
  for (auto _ : state) tenon::state::load(model, saved().path);
}
// Only the header is read; pages of the file become the model's memory as they are used.
void state_map(State& state) {
  Module model = saved().model.clone();
  for (auto _ : state) tenon::state::load(model, saved().path, true, true);
}
void limit_file_copy(State& state) {
  const Saved& file = saved();
  for (auto _ : state) copy_file(file.path, file.path + ".copy");
}
BENCHMARK(state_save)->UseRealTime()->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK(state_load)->UseRealTime()->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK(state_map)->UseRealTime()->Iterations(1)->Unit(benchmark::kMicrosecond);
BENCHMARK(limit_file_copy)->UseRealTime()->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
