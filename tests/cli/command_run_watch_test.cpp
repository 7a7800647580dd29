// tenon run --watch: a plugin is built again while a config trains with it.
#include <csignal>

#include <doctest/doctest.h>

#include "program.hpp"

namespace {

namespace fs = std::filesystem;

// blobs.json with a loss that is the number of the build, for longer than any test.
struct WatchedRun {
  WatchedRun() : folder(true) {
    std::string config = folder.read("blobs.json");
    const auto replace = [&](const std::string& from, const std::string& to) {
      config.replace(config.find(from), from.size(), to);
    };
    replace(R"("nn"])", R"("nn", {"path": "plugins/generation.so"}])");
    replace(R"({"type": "nn.functional.cross_entropy", "label_smoothing": 0.01})",
            R"("generation.loss")");
    replace("\"epochs\": 12", "\"epochs\": 100000000");
    replace("\"plot\": \"blobs.svg\"", "\"history\": \"history.jsonl\"");
    folder.write("c.json", config);
    fs::create_directory(folder.path("plugins"));
    install("1");
  }
  // As a linker does it: another file under the same name.
  void install(const std::string& build, uintmax_t bytes = 0) const {
    fs::copy_file(std::string(TENON_FIXTURES) + "/generations/generation_" + build + ".so",
                  folder.path("next"), fs::copy_options::overwrite_existing);
    if (bytes > 0) fs::resize_file(folder.path("next"), bytes);
    fs::rename(folder.path("next"), folder.path("plugins/generation.so"));
  }
  Workspace folder;
};

}  // namespace

TEST_SUITE("run --watch") {
  TEST_CASE("a plugin that is built again is reloaded while training continues") {
    const WatchedRun run;
    RunningProgram program(run.folder.path(), {"run", "c.json", "--watch"});
    // An epoch that ends from now on; the one that runs now may have begun before.
    const auto trains_with = [&](const std::string& build) {
      return program.writes("history.jsonl", "\"train_loss\":" + build);
    };
    REQUIRE(trains_with("1"));
    CHECK_FALSE(contains(program.error(), "reloaded"));
    run.install("2");
    CHECK(program.says("tenon: reloaded plugin 'generation' in "));
    CHECK(program.says(" ms: generation 2\n"));
    CHECK(trains_with("2"));
    // A refused build is reported with its reason, and the training continues with the old one.
    run.install("broken");
    CHECK(program.says("tenon: plugin 'generation' continues as it was: "));
    CHECK(program.says("one and one are three"));
    CHECK(trains_with("2"));
    const size_t before = program.error().size();
    run.install("3", 512);
    CHECK(program.says("tenon: plugin 'generation' continues as it was: ", before));
    CHECK(trains_with("2"));
    CHECK_FALSE(contains(program.error(), "generation 3"));
    run.install("3");
    CHECK(program.says(" ms: generation 3\n"));
    CHECK(trains_with("3"));
    CHECK(program.end(SIGINT) == 130);
  }

  TEST_CASE("plugins that may not change are not watched") {
    const WatchedRun run;
    const Outcome outcome = run_program_in(run.folder.path(), "run c.json --watch --frozen");
    CHECK(outcome.code == 2);
    CHECK(contains(outcome.error, "--watch runs plugins that change, --frozen those that do not"));
  }
}
