// Ranks that fail or differ are named, and end the job.
#include <array>
#include <chrono>

#include "job.hpp"

TEST_SUITE("ranks") {
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

  TEST_CASE("a build without the engine is refused on all ranks, with the place of its name" *
            doctest::skip(std::string(TENON_MPIEXEC).empty())) {
    const Folder folder;
    folder.write("points.csv", points());
    std::string text = config_text(distributed("mpi"));
    // A plugin that may not be loaded is missing like one that was not built.
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
