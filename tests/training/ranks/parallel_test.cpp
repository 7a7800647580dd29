// Modules whose parameters are shared out among the ranks.
#include "job.hpp"

namespace {

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

}  // namespace

TEST_SUITE("ranks") {
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
        for (const int ranks : rank_counts(engine)) {
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
    CHECK(contains(refusal_of(direction, 2), "this optimizer is not elementwise"));
    // An input of all features where this rank's are expected.
    std::string mixed = parallel_config(false, section);
    mixed.replace(mixed.find("\"gather_output\": false"), 22, "\"gather_output\": true");
    CHECK(contains(refusal_of(mixed, 2), "Error"));
  }
}
