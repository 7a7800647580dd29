// Training on several ranks: mpirun -n 2 tenon_bench_ranks. Prints each figure beside its limit.
//
// all_reduce against MPI's own, called in turns; then steps of the 784-1024-1024-10 MLP with 128
// samples for each rank: alone, on all ranks without reducing, reduced after backward, and reduced
// during it.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <mpi.h>
#include <vector>

#include <tenon/tenon.hpp>
#include <tenon/training/training.hpp>

namespace {

using tenon::Tensor;
namespace training = tenon::training;

double seconds(const std::function<void()>& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}
double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

void print_row(bool prints, const char* name, double figure, const char* limit) {
  if (prints) std::printf("%-52s %10.3f   %s\n", name, figure, limit);
}

// Properties of the machine that the model of plugins/mpi/README.md needs.
struct Link {
  double latency;    // seconds of a message
  double bandwidth;  // bytes a second
};

Link time_all_reduce(bool prints, int64_t ranks) {
  const double n = static_cast<double>(ranks), rounds = 2 * std::log2(n);
  double least = 0, most = 0;
  const tenon::Op all_reduce("distributed.all_reduce_");
  for (const int64_t bytes : {64, 64 << 10, 1 << 20, 16 << 20}) {
    const Tensor tensor = tenon::full({bytes / 4}, 1.0);
    std::vector<double> ours, bare;
    for (int round = 0; round < 41; ++round) {
      MPI_Barrier(MPI_COMM_WORLD);
      ours.push_back(seconds([&] { all_reduce.call<Tensor>(tensor); }));
      MPI_Barrier(MPI_COMM_WORLD);
      bare.push_back(seconds([&] {
        MPI_Allreduce(MPI_IN_PLACE, tensor.data<float>(), static_cast<int>(tensor.numel()),
                      MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      }));
    }
    most = median(ours);
    if (bytes == 64) {
      least = most;
      continue;
    }
    char name[64];
    std::snprintf(name, sizeof name, "all_reduce of %d KiB over MPI_Allreduce",
                  static_cast<int>(bytes >> 10));
    print_row(prints, name, median(ours) / median(bare), "<= 1.05");
  }
  const Link link{least / rounds, 2 * (n - 1) / n * (16 << 20) / (most - least)};
  print_row(prints, "latency of a message, microseconds", link.latency * 1e6, "");
  print_row(prints, "bandwidth of a link, GB/s", link.bandwidth * 1e-9, "");
  return link;
}

struct Mlp {
  tenon::Module model = tenon::create_module(tenon::Json::parse(
      R"({"type": "Sequential", "layers": [{"type": "Linear", "in_features": 784, "out_features": 1024}, "ReLU",
          {"type": "Linear", "in_features": 1024, "out_features": 1024}, "ReLU",
          {"type": "Linear", "in_features": 1024, "out_features": 10}]})"));
  Tensor inputs = tenon::randn({128, 784}), labels = tenon::randint(0, 10, {128});

  void step() {
    for (Tensor parameter : model.parameters()) parameter.set_grad({});
    tenon::nn::functional::cross_entropy(model(inputs), labels).backward();
  }
};

void time_steps(bool prints, const training::Ranks& ranks, const Link& link) {
  constexpr int kRounds = 21;
  Mlp mlp;
  const std::vector<Tensor> parameters = mlp.model.parameters();
  const auto timed = [&](const std::function<void()>& body) {
    std::vector<double> times;
    for (int round = 0; round < kRounds; ++round) {
      MPI_Barrier(MPI_COMM_WORLD);
      times.push_back(seconds(body));
    }
    return median(times);
  };
  double alone = 0;
  for (int64_t rank = 0; rank < ranks.size(); ++rank) {
    if (rank == ranks.rank()) {
      std::vector<double> times;
      times.reserve(kRounds);
      for (int round = 0; round < kRounds; ++round) times.push_back(seconds([&] { mlp.step(); }));
      alone = median(times);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  const double apart = timed([&] { mlp.step(); });
  int64_t elements = 0;
  for (const Tensor& parameter : parameters) elements += parameter.numel();
  const Tensor flat = tenon::full({elements}, 1.0);
  const tenon::Op all_reduce("distributed.all_reduce_");
  const double after = timed([&] {
    mlp.step();
    all_reduce.call<Tensor>(flat);
  });
  training::GradientBuckets buckets(ranks, parameters);
  mlp.step();
  buckets.finish();
  const double during = timed([&] {
    mlp.step();
    buckets.finish();
  });
  print_row(prints, "a step alone, ms", alone * 1e3, "");
  print_row(prints, "reducing its gradients at once, ms", (after - apart) * 1e3, "");
  // Three buckets, and none of it hidden: each rank has one core.
  const double n = static_cast<double>(ranks.size()), bytes = 4.0 * static_cast<double>(elements);
  const double reducing =
      3 * 2 * std::log2(n) * link.latency + 2 * (n - 1) / n * bytes / link.bandwidth;
  print_row(prints, "a step of all ranks, ms", during * 1e3, "");
  print_row(prints, "the same as the model predicts", (apart + reducing) * 1e3, "");
  print_row(prints, "efficiency: a step alone over a step of all ranks", alone / during, ">= 0.9");
  print_row(prints, "the same without reducing: what the machine allows", alone / apart, "");
  print_row(prints, "communication hidden behind backward", (after - during) / (after - apart),
            ">= 0.6");
  print_row(prints, "bytes reduced over bytes of gradients",
            static_cast<double>(elements + static_cast<int64_t>(parameters.size())) /
                static_cast<double>(elements),
            "<= 1.02");
}

}  // namespace

int main() {
  try {
    tenon::set_thread_count(1);
    const training::Ranks ranks(tenon::Json::parse(
        R"({"engine": "mpi", "bucket_bytes": 4194304, "timeout": 600, "check": "first", "deterministic": false,
            "shard_optimizer": false})"));
    if (ranks.alone()) {
      std::fprintf(stderr, "tenon_bench_ranks: one rank only; start it with mpirun -n 2\n");
      return 2;
    }
    const Link link = time_all_reduce(ranks.first(), ranks.size());
    time_steps(ranks.first(), ranks, link);
    return 0;
  } catch (const tenon::Error& error) {
    std::fprintf(stderr, "tenon_bench_ranks: %s: %s\n", error.kind_name(), error.what());
    return 1;
  }
}
