// Trainings on several ranks end with the weights of one rank.
#include "job.hpp"

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
      for (const int ranks : rank_counts(engine)) {
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
    std::string expected;
    for (const std::string& engine : engines()) {
      folder.write("c.json", config_text(distributed(engine, ", \"deterministic\": true"), "0.3"));
      for (const int ranks : rank_counts(engine)) {
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
    for (const int ranks : rank_counts("mpi")) {
      CAPTURE(ranks);
      const ShellJob job = run_ranks(folder, "mpi", ranks,
                                     folder.file("c.json") + " " + folder.file("w.safetensors"));
      CAPTURE(job.text);
      CHECK(job.code == 0);
      CHECK(largest_difference(folder.file("alone.safetensors"), folder.file("w.safetensors")) <
            1e-4);
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
}
