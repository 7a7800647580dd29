// Jobs of several ranks, and the config that they train by.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <tenon/state/tensor_file.hpp>

#include "../support.hpp"
#include "tests/support/shell_job.hpp"

inline std::string job_command(const std::string& arguments) {
  return "'" TENON_JOB "' " + arguments;
}

// All ranks get these arguments.
inline ShellJob run_ranks(const Folder& folder, const std::string& engine, int ranks,
                          const std::string& arguments) {
  if (engine == "mpi")
    return run_shell_job(std::string(TENON_MPIEXEC) + " --oversubscribe -n " +
                         std::to_string(ranks) + " " + job_command(arguments));
  const std::string file = folder.file("ranks");
  std::filesystem::remove(file);
  std::string command = "(";
  for (int rank = 0; rank < ranks; ++rank) {
    command += "TENON_TEST_RANK=" + std::to_string(rank) +
               " TENON_TEST_RANKS=" + std::to_string(ranks) + " TENON_TEST_RANKS_FILE='" + file +
               "' " + job_command(arguments) + " & ";
  }
  return run_shell_job(command + "wait)");
}

inline std::vector<std::string> engines() {
  std::vector<std::string> list = {"shared_memory"};
  if (std::string(TENON_MPIEXEC) != "") list.emplace_back("mpi");
  return list;
}

// Numbers of ranks that a test tries. The calls of MPI have their tests, for 1 to 4 ranks, in
// plugins/mpi: here an even and an odd number will do.
inline std::vector<int> rank_counts(const std::string& engine) {
  if (engine == "mpi") return {2, 3};
  return {1, 2, 3, 4};
}

// Classes of points by their place; batches of 10 of 47 samples, so that the last is uneven.
inline std::string config_text(const std::string& distributed, const std::string& more = "") {
  return R"({"schema_version": 1, "seed": 3, "data": {"path": "points.csv"}, "split": {"test": 6e-2},
"model": {"type": "Sequential", "layers": [{"type": "Linear", "in_features": 2, "out_features": 16}, "Tanh",
          {"type": "Dropout", "p": )" +
         std::string(more.empty() ? "0.0" : more) +
         R"(}, {"type": "Linear", "in_features": 16, "out_features": 3}]},
"loss": "cross_entropy", "optimizer": {"type": "adam", "learning_rate": 0.02},
"training": {"epochs": 4, "batch_size": 10, "clip": {"type": "norm", "maximum": 1.0}})" +
         (distributed.empty() ? "" : ", \"distributed\": " + distributed) + "}";
}
inline std::string points() {
  std::string text;
  for (int i = 0; i < 50; ++i) {
    const double angle = i * 0.7, x = std::cos(angle) * (i % 5), y = std::sin(angle) * (i % 7);
    text += std::to_string(x) + "," + std::to_string(y) + "," +
            std::to_string(x > 1   ? 0
                           : y > 1 ? 1
                                   : 2) +
            "\n";
  }
  return text;
}

inline std::string distributed(const std::string& engine, const std::string& more = "") {
  return R"({"engine": ")" + engine + R"(", "timeout": 20)" + more + "}";
}

inline double largest_difference(const std::string& a, const std::string& b) {
  const auto left = tenon::state::load_tensors(a), right = tenon::state::load_tensors(b);
  REQUIRE(left.size() == right.size());
  double most = 0;
  for (size_t i = 0; i < left.size(); ++i) {
    REQUIRE(left[i].first == right[i].first);
    const std::vector<double> x = left[i].second.to_vector<double>(),
                              y = right[i].second.to_vector<double>();
    REQUIRE(x.size() == y.size());
    for (size_t k = 0; k < x.size(); ++k) most = std::max(most, std::abs(x[k] - y[k]));
  }
  return most;
}
