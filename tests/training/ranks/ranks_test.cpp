// Trainings on several ranks: the weights are those of one rank, and ranks that differ are named.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "../support.hpp"
#include "tests/support/shell_job.hpp"

namespace {

std::string job_command(const std::string& arguments) { return "'" TENON_JOB "' " + arguments; }

// Runs every rank with these arguments.
ShellJob run_ranks(const Folder& folder, const std::string& engine, int ranks,
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

std::vector<std::string> engines() {
  std::vector<std::string> list = {"shared_memory"};
  if (std::string(TENON_MPIEXEC) != "") list.emplace_back("mpi");
  return list;
}

// Three classes by where a point is; batches of 10 of 47 samples, so that the last is uneven.
std::string config_text(const std::string& distributed, const std::string& more = "") {
  return R"({"schema_version": 1, "seed": 3, "data": {"path": "points.csv"}, "split": {"test": 6e-2},
"model": {"type": "Sequential", "layers": [{"type": "Linear", "in_features": 2, "out_features": 16}, "Tanh",
          {"type": "Dropout", "p": )" +
         std::string(more.empty() ? "0.0" : more) +
         R"(}, {"type": "Linear", "in_features": 16, "out_features": 3}]},
"loss": "cross_entropy", "optimizer": {"type": "adam", "learning_rate": 0.02},
"training": {"epochs": 4, "batch_size": 10, "clip": {"type": "norm", "maximum": 1.0}})" +
         (distributed.empty() ? "" : ", \"distributed\": " + distributed) + "}";
}
std::string points() {
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

std::string distributed(const std::string& engine, const std::string& more = "") {
  return R"({"engine": ")" + engine + R"(", "timeout": 20)" + more + "}";
}

double largest_difference(const std::string& a, const std::string& b) {
  const auto left = tenon::load_tensors(a), right = tenon::load_tensors(b);
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

}  // namespace

TEST_SUITE("ranks") {
  TEST_CASE("any number of ranks ends with the weights of one, with any engine and bucket size") {
    const Folder folder;
    folder.write("points.csv", points());
    folder.write("alone.json", config_text(""));
    const ShellJob alone = run_shell_job(
        job_command(folder.file("alone.json") + " " + folder.file("alone.safetensors")));
    CAPTURE(alone.text);
    REQUIRE(alone.code == 0);
    for (const std::string& engine : engines()) {
      for (const int ranks : {1, 2, 3, 4}) {
        CAPTURE(engine);
        CAPTURE(ranks);
        folder.write("c.json", config_text(distributed(
                                   engine, ", \"bucket_bytes\": " +
                                               std::to_string(ranks % 2 == 0 ? 150 : 1000))));
        const ShellJob job = run_ranks(folder, engine, ranks,
                                       folder.file("c.json") + " " + folder.file("w.safetensors"));
        CAPTURE(job.text);
        CHECK(job.code == 0);
        CHECK(contains(job.text, std::to_string(ranks) + " ranks, train loss"));
        CHECK(largest_difference(folder.file("alone.safetensors"), folder.file("w.safetensors")) <
              1e-5);
      }
    }
  }

  TEST_CASE(
      "deterministic trainings give the same bits for each number of ranks, with dropout and "
      "resumed") {
    const Folder folder;
    folder.write("points.csv", points());
    for (const std::string& engine : engines()) {
      folder.write("c.json", config_text(distributed(engine, ", \"deterministic\": true"), "0.3"));
      std::string expected;
      for (const int ranks : {1, 2, 3, 4}) {
        CAPTURE(engine);
        CAPTURE(ranks);
        const ShellJob job = run_ranks(folder, engine, ranks,
                                       folder.file("c.json") + " " + folder.file("w.safetensors"));
        CAPTURE(job.text);
        CHECK(job.code == 0);
        const std::string found = folder.read("w.safetensors");
        if (expected.empty()) expected = found;
        CHECK(found == expected);
      }
      // Stopped on three ranks in the middle of an epoch, continued on two.
      const ShellJob stopped =
          run_ranks(folder, engine, 3,
                    folder.file("c.json") + " " + folder.file("half.safetensors") + " stop 7 " +
                        folder.file("c.checkpoint"));
      CAPTURE(stopped.text);
      REQUIRE(stopped.code == 0);
      const ShellJob resumed =
          run_ranks(folder, engine, 2,
                    folder.file("c.json") + " " + folder.file("w.safetensors") + " resume " +
                        folder.file("c.checkpoint"));
      CAPTURE(resumed.text);
      CHECK(resumed.code == 0);
      CHECK(folder.read("half.safetensors") != expected);
      CHECK(folder.read("w.safetensors") == expected);
    }
  }

  TEST_CASE(
      "with sharded states the weights stay the same, and each rank keeps its share of them") {
    const Folder folder;
    folder.write("points.csv", points());
    for (const std::string& engine : engines()) {
      CAPTURE(engine);
      const std::string bits = ", \"deterministic\": true", shard = ", \"shard_optimizer\": true";
      folder.write("c.json", config_text(distributed(engine, bits), "0.3"));
      const ShellJob whole =
          run_ranks(folder, engine, 1, folder.file("c.json") + " " + folder.file("w.safetensors"));
      REQUIRE(whole.code == 0);
      const std::string expected = folder.read("w.safetensors");
      folder.write("s.json", config_text(distributed(engine, bits + shard), "0.3"));
      folder.write("f.json", config_text(distributed(engine, shard)));
      std::string unclipped = config_text(distributed(engine, shard)),
                  alone_unclipped = config_text("");
      for (std::string* text : {&unclipped, &alone_unclipped}) {
        const std::string clip = ", \"clip\": {\"type\": \"norm\", \"maximum\": 1.0}";
        text->erase(text->find(clip), clip.size());
      }
      folder.write("u.json", unclipped);
      folder.write("alone_u.json", alone_unclipped);
      run_shell_job(
          job_command(folder.file("alone_u.json") + " " + folder.file("alone_u.safetensors")));
      folder.write("alone.json", config_text(""));
      run_shell_job(
          job_command(folder.file("alone.json") + " " + folder.file("alone.safetensors")));
      for (const int ranks : {1, 2, 3, 4}) {
        CAPTURE(ranks);
        const ShellJob job = run_ranks(folder, engine, ranks,
                                       folder.file("s.json") + " " + folder.file("w.safetensors"));
        CAPTURE(job.text);
        CHECK(job.code == 0);
        CHECK(folder.read("w.safetensors") == expected);
        const ShellJob fast = run_ranks(folder, engine, ranks,
                                        folder.file("f.json") + " " + folder.file("f.safetensors"));
        CHECK(fast.code == 0);
        CHECK(largest_difference(folder.file("alone.safetensors"), folder.file("f.safetensors")) <
              1e-5);
        // Gradients that are not clipped reach each rank in shards.
        const ShellJob scattered = run_ranks(
            folder, engine, ranks, folder.file("u.json") + " " + folder.file("u.safetensors"));
        CAPTURE(scattered.text);
        CHECK(scattered.code == 0);
        CHECK(largest_difference(folder.file("alone_u.safetensors"), folder.file("u.safetensors")) <
              1e-5);
        // 2 states of 32 + 16 + 48 + 3 elements, in ranges of a rank each: the first has the most.
        const auto share = [&](int count) { return (count + ranks - 1) / ranks; };
        const int kept = 2 * (share(32) + share(16) + share(48) + share(3));
        CHECK(contains(run_ranks(folder, engine, ranks,
                                 folder.file("s.json") + " " + folder.file("w") + " states")
                           .text,
                       std::to_string(kept) + " elements of states"));
      }
      // Stopped on three ranks, continued on two, and without shards.
      const ShellJob stopped = run_ranks(folder, engine, 3,
                                         folder.file("s.json") + " " + folder.file("half") +
                                             " stop 7 " + folder.file("c.checkpoint"));
      CAPTURE(stopped.text);
      REQUIRE(stopped.code == 0);
      for (const char* config : {"s.json", "c.json"}) {
        const ShellJob resumed =
            run_ranks(folder, engine, 2,
                      folder.file(config) + " " + folder.file("w.safetensors") + " resume " +
                          folder.file("c.checkpoint"));
        CAPTURE(resumed.text);
        CHECK(resumed.code == 0);
        CHECK(folder.read("w.safetensors") == expected);
      }
      // An optimizer that measures a whole parameter cannot have shards.
      std::string text = config_text(distributed(engine, shard));
      text.replace(text.find("\"type\": \"adam\""), 14, "\"type\": \"trainers.direction\"");
      folder.write("d.json", text);
      CHECK(contains(
          run_ranks(folder, engine, 2, folder.file("d.json") + " " + folder.file("w")).text,
          "trainers.direction_step_ changes an element of a parameter by others"));
    }
  }

  TEST_CASE("SyncBatchNorm on several ranks is BatchNorm of the whole batch on one" *
            doctest::skip(std::string(TENON_MPIEXEC).empty())) {
    const Folder folder;
    folder.write("points.csv", points());
    const auto with_norm = [&](const std::string& name, const std::string& section) {
      std::string text = config_text(section);
      // Adam would make steps of the bias's gradient, which is 0 but for rounding.
      text.replace(text.find("adam"), 4, "sgd");
      text.insert(text.find("\"Tanh\""), R"({"type": ")" + name + R"(", "num_features": 16}, )");
      return text;
    };
    folder.write("alone.json", with_norm("BatchNorm1d", ""));
    const ShellJob alone = run_shell_job(
        job_command(folder.file("alone.json") + " " + folder.file("alone.safetensors")));
    CAPTURE(alone.text);
    REQUIRE(alone.code == 0);
    folder.write("c.json", with_norm("SyncBatchNorm", distributed("mpi")));
    for (const int ranks : {1, 2, 3, 4}) {
      CAPTURE(ranks);
      const ShellJob job = run_ranks(folder, "mpi", ranks,
                                     folder.file("c.json") + " " + folder.file("w.safetensors"));
      CAPTURE(job.text);
      CHECK(job.code == 0);
      CHECK(largest_difference(folder.file("alone.safetensors"), folder.file("w.safetensors")) <
            1e-4);
    }
  }

  // Both ways in which a pair of parallel layers can be connected.
  std::string parallel_config(bool joined, const std::string& section) {
    std::string text = config_text(section, joined ? "0.3" : "");
    const auto replace = [&](const std::string& from, const std::string& to) {
      text.replace(text.find(from), from.size(), to);
    };
    replace("{\"type\": \"Linear\", \"in_features\": 2, \"out_features\": 16}",
            R"({"type": "Linear", "in_features": 2, "out_features": 5}, "Tanh",
               {"type": "ColumnParallelLinear", "in_features": 5, "out_features": 12)" +
                std::string(joined ? "}" : ", \"gather_output\": false}"));
    if (joined) replace("\"epochs\": 4", R"("epochs": 4, "monitor": {"goal": "minimize"})");
    replace("{\"type\": \"Linear\", \"in_features\": 16, \"out_features\": 3}",
            R"({"type": "RowParallelLinear", "in_features": 12, "out_features": 3)" +
                std::string(joined ? "}" : ", \"input_is_parallel\": true}"));
    return text;
  }

  TEST_CASE(
      "parallel modules on several ranks have the weights of one rank, of which each has a part") {
    const Folder folder;
    folder.write("points.csv", points());
    for (const bool joined : {true, false}) {
      CAPTURE(joined);
      folder.write("alone.json", parallel_config(joined, ""));
      const std::string alone = folder.file("alone.safetensors");
      REQUIRE(run_shell_job(job_command(folder.file("alone.json") + " " + alone)).code == 0);
      for (const std::string& engine : engines()) {
        CAPTURE(engine);
        folder.write("c.json", parallel_config(joined, distributed(engine)));
        const std::string job = folder.file("c.json") + " ", weights = folder.file("w.safetensors"),
                          checkpoint = " " + folder.file("c.checkpoint");
        for (const int ranks : {1, 2, 3, 4}) {
          CAPTURE(ranks);
          const ShellJob whole = run_ranks(folder, engine, ranks, job + weights);
          CAPTURE(whole.text);
          CHECK(whole.code == 0);
          CHECK(largest_difference(alone, weights) < 1e-6);
          // 2 states: 10 + 5 of the first layer, 60 + 12 in columns, 36 in rows, 3 on each rank.
          const int kept = 2 * (15 + 3 + (60 + 12 + 36) / ranks);
          if (!joined || ranks == 1) continue;
          CHECK(contains(run_ranks(folder, engine, ranks, job + weights + " states").text,
                         " " + std::to_string(kept) + " elements of states"));
        }
        // Stopped in the middle of an epoch, and continued on another number of ranks.
        const std::pair<int, int> ways[] = {joined ? std::pair{3, 2} : std::pair{2, 1}};
        for (const auto& way : ways) {
          const auto& first = way.first;
          const auto& second = way.second;
          CAPTURE(first);
          REQUIRE(run_ranks(folder, engine, first, job + weights + " stop 7" + checkpoint).code ==
                  0);
          CHECK(largest_difference(alone, weights) > 1e-3);
          const ShellJob resumed =
              run_ranks(folder, engine, second, job + weights + " resume" + checkpoint);
          CAPTURE(resumed.text);
          CHECK(resumed.code == 0);
          CHECK(largest_difference(alone, weights) < 1e-6);
        }
      }
    }
  }

  TEST_CASE("what parallel modules cannot do on several ranks is refused with its place") {
    const Folder folder;
    folder.write("points.csv", points());
    const auto refusal_of = [&](const std::string& text, int ranks) {
      folder.write("c.json", text);
      return run_ranks(folder, "shared_memory", ranks,
                       folder.file("c.json") + " " + folder.file("w"))
          .text;
    };
    const std::string section = distributed("shared_memory");
    CHECK(contains(refusal_of(parallel_config(true, section), 5),
                   "ColumnParallelLinear '2' has out_features 12, which 5 ranks do not divide"));
    for (const char* key : {"deterministic", "shard_optimizer"}) {
      const std::string more = distributed("shared_memory", ", \"" + std::string(key) + "\": true");
      CHECK(contains(refusal_of(parallel_config(true, more), 2),
                     "\"" + std::string(key) + "\" is for ranks that divide batches"));
    }
    std::string direction = parallel_config(true, section);
    direction.replace(direction.find("\"adam\""), 6, "\"trainers.direction\"");
    CHECK(contains(refusal_of(direction, 2), "changes an element of a parameter by others"));
    // An input of all features where this rank's are expected.
    std::string mixed = parallel_config(false, section);
    mixed.replace(mixed.find("\"gather_output\": false"), 22, "\"gather_output\": true");
    CHECK(contains(refusal_of(mixed, 2), "Error"));
  }

  TEST_CASE("with sharded states a step sends no more bytes than all_reduce of the gradients") {
    const Folder folder;
    folder.write("points.csv", points());
    std::string wide = config_text(distributed("shared_memory", ", \"shard_optimizer\": true"));
    for (const char* size : {"\"out_features\": 16", "\"in_features\": 16"})
      wide.replace(wide.find(size) + std::string(size).size() - 2, 2, "512");
    const std::string clip = ", \"clip\": {\"type\": \"norm\", \"maximum\": 1.0}";
    std::string free = wide;
    free.erase(free.find(clip), clip.size());
    std::string whole = free;
    whole.replace(whole.find(", \"shard_optimizer\": true"), 25, "");
    // Gradients are needed whole where they are clipped: all_reduce, and the parts of parameters.
    const std::pair<std::string, double> cases[] = {{free, 1}, {whole, 1}, {wide, 1.5}};
    for (const auto& each : cases) {
      const auto& text = each.first;
      const auto& limit = each.second;
      for (const int ranks : {2, 3, 4}) {
        CAPTURE(text);
        CAPTURE(ranks);
        folder.write("c.json", text);
        const ShellJob job = run_ranks(folder, "shared_memory", ranks,
                                       folder.file("c.json") + " " + folder.file("w") + " bytes");
        CAPTURE(job.text);
        const size_t at = job.text.find("bytes in a step: ");
        REQUIRE(at != std::string::npos);
        const double least = 2.0 * (ranks - 1) / ranks * 4 * (3 * 512 + 513 * 3);
        const double ratio = std::stod(job.text.substr(at + 17)) / least;
        CHECK(ratio >= limit);
        CHECK(ratio <= limit * 1.02);
      }
    }
  }

  TEST_CASE("a full disk on the first rank ends all ranks with an error" *
            doctest::skip(std::string(TENON_MPIEXEC).empty())) {
    const Folder folder;
    folder.write("points.csv", points());
    folder.write("c.json", config_text(distributed("mpi")));
    const ShellJob job = run_ranks(
        folder, "mpi", 3,
        folder.file("c.json") + " " + folder.file("w") + " full " + folder.file("c.checkpoint"));
    CAPTURE(job.text);
    CHECK(job.code != 0);
    CHECK(contains(job.text, "IOError: "));
    CHECK(contains(job.text, "rank 0 is at the end"));
    CHECK_FALSE(std::filesystem::exists(folder.file("c.checkpoint")));
  }

  TEST_CASE("a loss that is not finite on one rank is named by all") {
    const Folder folder;
    folder.write("points.csv", points());
    for (const std::string& engine : engines()) {
      for (const char* more : {"", ", \"deterministic\": true"}) {
        CAPTURE(engine);
        folder.write("c.json", config_text(distributed(engine, more)));
        const ShellJob job =
            run_ranks(folder, engine, 3, folder.file("c.json") + " " + folder.file("w") + " nan");
        CAPTURE(job.text);
        CHECK(contains(job.text, "training diverged: the loss of rank "));
        CHECK(contains(job.text, " is nan"));
      }
    }
  }

  TEST_CASE("more ranks than samples in a batch, or in the test part, are possible") {
    const Folder folder;
    folder.write("points.csv", points());
    for (const std::string& engine : engines()) {
      std::string text = config_text(distributed(engine));
      text.replace(text.find("\"batch_size\": 10"), 16, "\"batch_size\": 2");
      folder.write("c.json", text);
      const ShellJob job =
          run_ranks(folder, engine, 4, folder.file("c.json") + " " + folder.file("w.safetensors"));
      CAPTURE(job.text);
      CHECK(job.code == 0);
    }
  }

  TEST_CASE(
      "parts that the ranks do not divide, and engines that do not exist, are refused with their "
      "place") {
    const Folder folder;
    folder.write("points.csv", points());
    folder.write("c.json", config_text(distributed("shared_memory",
                                                   ", \"deterministic\": true, \"parts\": 5")));
    const ShellJob parts =
        run_ranks(folder, "shared_memory", 2, folder.file("c.json") + " " + folder.file("w"));
    CHECK(contains(parts.text, "5 parts of a batch cannot be divided among 2 ranks"));
    folder.write("d.json", config_text(distributed("no_such_engine")));
    const ShellJob engine =
        run_shell_job(job_command(folder.file("d.json") + " " + folder.file("w")));
    CHECK(engine.code == 1);
    CHECK(contains(engine.text, "d.json:"));
    CHECK(contains(engine.text, "no_such_engine"));
  }

  TEST_CASE("a rank with another config or model is found before the first step" *
            doctest::skip(std::string(TENON_MPIEXEC).empty())) {
    const Folder folder;
    folder.write("points.csv", points());
    folder.write("a.json", config_text(distributed("mpi")));
    const auto against = [&](const std::string& text) {
      folder.write("b.json", text);
      return run_shell_job(std::string(TENON_MPIEXEC) + " --oversubscribe -n 1 " +
                           job_command(folder.file("a.json") + " " + folder.file("w")) +
                           " : -n 1 " +
                           job_command(folder.file("b.json") + " " + folder.file("v")));
    };
    std::string rate = config_text(distributed("mpi"));
    rate.replace(rate.find("0.02"), 4, "0.03");
    const ShellJob config = against(rate);
    CAPTURE(config.text);
    CHECK(config.code == 75);
    CHECK(contains(config.text, "the config of rank 1 differs from that of rank 0"));
    std::string seed = config_text(distributed("mpi"));
    seed.replace(seed.find("\"seed\": 3"), 9, "\"seed\": 4");
    const ShellJob other = against(seed);
    CAPTURE(other.text);
    CHECK(other.code == 75);
    CHECK(contains(other.text, "the seed of rank 1 differs from that of rank 0"));
  }

  TEST_CASE("a rank with another version of a plugin is found before the first step" *
            doctest::skip(std::string(TENON_MPIEXEC).empty())) {
    const Folder folder;
    folder.write("points.csv", points());
    std::string lion = config_text(distributed("mpi"));
    lion.replace(lion.find("\"adam\""), 6, "\"trainers.lion_step_\"");
    folder.write("c.json", lion);
    const std::string rank = job_command(folder.file("c.json") + " " + folder.file("w"));
    const ShellJob job =
        run_shell_job(std::string(TENON_MPIEXEC) + " --oversubscribe -n 1 " + rank +
                      " : -n 1 env TENON_TEST_TRAINERS='" TENON_NEXT_TRAINERS "' " + rank);
    CAPTURE(job.text);
    CHECK(job.code == 75);
    CHECK(contains(job.text, "the set of plugins of rank 1 differs from that of rank 0"));
  }

  TEST_CASE("a rank with another lock file is found before the first step" *
            doctest::skip(std::string(TENON_MPIEXEC).empty())) {
    const Folder folder;
    folder.write("points.csv", points());
    const auto job = [&](const std::string& config) {
      return job_command(folder.file(config) + " " + folder.file("w") + " unlocked");
    };
    for (const std::string name : {"a", "b"}) {
      folder.write(name + ".lock", "the lock " + name);
      std::string text = config_text(distributed("mpi"));
      folder.write(name + ".json", text.insert(1, "\"frozen\": \"" + name + ".lock\", "));
    }
    const ShellJob both = run_shell_job(std::string(TENON_MPIEXEC) + " --oversubscribe -n 1 " +
                                        job("a.json") + " : -n 1 " + job("b.json"));
    CAPTURE(both.text);
    CHECK(both.code == 75);
    CHECK(contains(both.text, "the lock file of rank 1 differs from that of rank 0"));
  }

  TEST_CASE("a rank that fails or calls something else during training is named" *
            doctest::skip(std::string(TENON_MPIEXEC).empty())) {
    const Folder folder;
    folder.write("points.csv", points());
    std::string text = config_text(distributed("mpi"));
    text.replace(text.find("\"timeout\": 20"), 13, "\"timeout\": 2");
    folder.write("c.json", text);
    const std::array<std::array<const char*, 2>, 6> faults = {{
        {"killed", "DistributedError: rank 1 has died"},
        {"stopped", "rank 1 is missing"},
        {"shape", "(sum of f32 [7, 5])"},
        {"dtype", "(sum of f64 [7])"},
        {"op", "rank 1 is at all_gather() #"},
        {"extra call", "rank 1 is at barrier() #"},
    }};
    for (const auto& row : faults) {
      const char* const fault = row[0];
      const char* const named = row[1];
      CAPTURE(fault);
      const auto begin = std::chrono::steady_clock::now();
      const ShellJob job = run_shell_job(
          "(" + std::string(TENON_MPIEXEC) + " --oversubscribe -n 3 " +
          job_command(folder.file("c.json") + " " + folder.file("w") + " fault '" + fault + "'") +
          " 2>&1)");
      const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
      CAPTURE(job.text);
      CHECK(job.code == (std::string(fault) == "killed" ? 137 : 75));
      CHECK(contains(job.text, "DistributedError: "));
      CHECK(contains(job.text, named));
      CHECK(passed.count() < 30);
    }
  }

  TEST_CASE("more ranks than samples are possible") {
    const Folder folder;
    const std::string all = points();
    size_t end = 0;
    for (int line = 0; line < 3; ++line) end = all.find('\n', end) + 1;
    folder.write("points.csv", all.substr(0, end));
    for (const std::string& engine : engines()) {
      for (const char* more : {"", ", \"shard_optimizer\": true", ", \"deterministic\": true"}) {
        CAPTURE(engine);
        CAPTURE(more);
        folder.write("c.json", config_text(distributed(engine, more)));
        const ShellJob job = run_ranks(folder, engine, 4,
                                       folder.file("c.json") + " " + folder.file("w.safetensors"));
        CAPTURE(job.text);
        CHECK(job.code == 0);
      }
    }
  }

  TEST_CASE("a build without the engine is refused on all ranks, with the place of its name" *
            doctest::skip(std::string(TENON_MPIEXEC).empty())) {
    const Folder folder;
    folder.write("points.csv", points());
    std::string text = config_text(distributed("mpi"));
    // A plugin that may not be loaded is like one that was not built.
    text.insert(1, R"("plugins": [{"name": "mpi", "load": "never"}], )");
    folder.write("c.json", text);
    const ShellJob job =
        run_ranks(folder, "mpi", 2, folder.file("c.json") + " " + folder.file("w"));
    CAPTURE(job.text);
    CHECK(job.code == 1);
    CHECK(contains(job.text, "ConfigError: "));
    CHECK(contains(job.text, "c.json:"));
    CHECK(contains(job.text, "mpi"));
  }
}
