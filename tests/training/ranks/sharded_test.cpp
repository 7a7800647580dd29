// Optimizers whose states are shared out among the ranks.
#include <cmath>

#include "job.hpp"

TEST_SUITE("ranks") {
  TEST_CASE(
      "with sharded states the weights stay the same, and each rank keeps its share of them") {
    const Folder folder;
    folder.write("points.csv", points());
    const std::string clip = ", \"clip\": {\"type\": \"norm\", \"maximum\": 1.0}";
    const auto without_clip = [&](std::string text) {
      return text.erase(text.find(clip), clip.size());
    };
    folder.write("alone.json", config_text(""));
    folder.write("alone_u.json", without_clip(config_text("")));
    for (const std::string name : {"alone", "alone_u"}) {
      run_shell_job(
          job_command(folder.file(name + ".json") + " " + folder.file(name + ".safetensors")));
    }
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
      folder.write("u.json", without_clip(config_text(distributed(engine, shard))));
      for (const int ranks : rank_counts(engine)) {
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
}
