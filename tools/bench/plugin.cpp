// The cost of plugins before their first call: listing from facts, and loading. Each in a fresh
// process.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <unistd.h>

#include "bench.hpp"
#include "child.hpp"

namespace {

namespace fs = std::filesystem;
using bench::State;

constexpr int64_t processes = 9;

// A folder that goes when the benchmark ends.
class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "tenon_bench_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make a temporary folder");
    path_ = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

void run_timed(State& state, const char* what, const std::string& path,
               const std::vector<std::string>& environment = {}) {
  for (auto _ : state)
    state.SetIterationTime(bench::timed_child({BENCH_START, what, path}, environment));
}

// Runs the program on a plugin that is alone in its folder.
void run_alone(State& state, const char* what, const fs::path& file, const std::string& id) {
  const Folder folder;
  fs::copy_file(file, folder.path() / file.filename());
  run_timed(state, what, id, {"TENON_PLUGIN_PATH=" + folder.path().string()});
}
void list_thousand_ops(State& state) { run_alone(state, "list", BENCH_THOUSAND_OPS, ""); }
void list_shipped(State& state) { run_timed(state, "list", ""); }
void limit_read_thousand_ops(State& state) { run_timed(state, "read", BENCH_THOUSAND_OPS); }
void load_thousand_ops(State& state) {
  run_alone(state, "load", BENCH_THOUSAND_OPS, "thousand_ops");
}
void load_many_types(State& state) { run_alone(state, "load", BENCH_MANY_TYPES, "many_types"); }
void limit_open_thousand_ops(State& state) { run_timed(state, "open", BENCH_THOUSAND_OPS); }
void limit_open_many_types(State& state) { run_timed(state, "open", BENCH_MANY_TYPES); }
BENCHMARK(list_thousand_ops)->UseManualTime()->Iterations(processes);
BENCHMARK(list_shipped)->UseManualTime()->Iterations(processes);
BENCHMARK(limit_read_thousand_ops)->UseManualTime()->Iterations(processes);
BENCHMARK(load_thousand_ops)->UseManualTime()->Iterations(processes);
BENCHMARK(limit_open_thousand_ops)->UseManualTime()->Iterations(processes);
BENCHMARK(load_many_types)->UseManualTime()->Iterations(processes);
BENCHMARK(limit_open_many_types)->UseManualTime()->Iterations(processes);

// A thousand plugins: copies of one whose number is replaced everywhere in the file.
void write_thousand_plugins(const fs::path& folder) {
  std::ifstream file(BENCH_MANY, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), {});
  std::string id = "many_0000";
  std::vector<size_t> places;
  for (size_t at = bytes.find(id); at != bytes.npos; at = bytes.find(id, at + 1))
    places.push_back(at);
  for (int i = 0; i < 1000; ++i) {
    char number[16];
    std::snprintf(number, sizeof number, "many_%04d", i);
    for (const size_t at : places) bytes.replace(at, id.size(), number);
    std::ofstream(folder / (std::string(number) + ".so"), std::ios::binary) << bytes;
  }
}

// The whole process `tenon ops`.
void ops_of_thousand_plugins(State& state) {
  const Folder folder;
  write_thousand_plugins(folder.path());
  const bool built = access(BENCH_CLI, X_OK) == 0;
  const std::vector<std::string> command = built ? std::vector<std::string>{BENCH_CLI, "ops"}
                                                 : std::vector<std::string>{BENCH_START, "list"};
  for (auto _ : state) {
    const bench::ChildResult child =
        bench::run_child(command, {"TENON_PLUGIN_PATH=" + folder.path().string()});
    state.SetIterationTime(child.seconds);
  }
  state.SetLabel(built ? "tenon ops" : "tenon::listing::ops");
}
BENCHMARK(ops_of_thousand_plugins)->UseManualTime()->Iterations(processes);

}  // namespace
