// The benchmark program; `compare` runs it beside a peer and prints the table.
#include <cstdio>
#include <cstdlib>

#include "bench.hpp"

int main(int argc, char** argv) {
  try {
    // One thread unless the environment says otherwise: ratios are of single threads.
    if (secure_getenv("TENON_NUM_THREADS") == nullptr) tenon::set_thread_count(1);
    tenon::load_plugin(BENCH_PLUGIN);
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tenon_bench: %s\n", error.what());
    return 1;
  }
}
