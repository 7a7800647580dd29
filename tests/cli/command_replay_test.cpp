// TENON_KEEP_FAILURES and tenon replay.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include <doctest/doctest.h>

#include "program.hpp"

namespace {

std::string file_in(const std::filesystem::path& folder) {
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    return entry.path().string();
  return "";
}

}  // namespace

TEST_SUITE("replay") {
  TEST_CASE("a failing call is kept and named, its message is as without, and it fails again") {
    const Workspace folder;
    const std::string call = "call add f32[8,1,6] f32[7,5] alpha=2";
    const Outcome plain = run_program_in(folder.path(), call);
    const Outcome outcome = run_program_in(folder.path(), call, "TENON_KEEP_FAILURES=kept");
    CHECK(outcome.code == 1);
    CHECK(contains(outcome.error, plain.error));
    const std::string file = file_in(folder.path("kept"));
    CHECK(contains(outcome.error, "tenon: a failing call is kept in kept/failure-add-"));
    run_program_in(folder.path(), "replay " + file, "TENON_KEEP_FAILURES=kept");
    const auto entries = std::filesystem::directory_iterator(folder.path("kept"));
    CHECK(std::distance(begin(entries), end(entries)) == 1);  // not once more
    const Outcome again = run_program_in(folder.path(), "replay " + file, "COLUMNS=80");
    CHECK(again.code == 1);
    for (const char* part :
         {"add(f32[8, 1, 6], f32[7, 5], alpha=2)\n", "  failed     ValueError: add(): shapes ",
          "  provider   math\n", "  plugins    the same files as then\n",
          "The call fails with the same error.\n"})
      CHECK_MESSAGE(contains(again.out, part), part);
    std::istringstream lines(again.out);
    for (std::string line; std::getline(lines, line);) CHECK_MESSAGE(line.size() <= 80, line);
    const tenon::Json document = run_program_in(folder.path(), "replay --json " + file).json();
    CHECK(document["op"].text() == "add");
    CHECK(document["same_error"].as_bool());
    CHECK(document["changed_plugins"].size() == 0);
  }

  TEST_CASE("a plugin whose file has changed, or is gone, is named with its hashes and versions") {
    const Workspace folder;
    std::filesystem::create_directory(folder.path("plugins"));
    const std::filesystem::path plugin = folder.path("plugins/plain.so");
    std::filesystem::copy_file(TENON_FIXTURES "/plain.so", plugin);
    CHECK(run_program_in(folder.path(), "--plugin-path plugins call plain.add_one f64[3]",
                         "TENON_KEEP_FAILURES=kept")
              .code == 1);
    const std::string replay = "--plugin-path plugins replay " + file_in(folder.path("kept"));
    std::ofstream(plugin, std::ios::app) << "changed";  // behind all that the loader reads
    const Outcome changed = run_program_in(folder.path(), replay, "COLUMNS=80");
    CHECK(contains(changed.out, "  plugin plain was 1.2.0, sha256 "));
    CHECK(contains(changed.out, ", is 1.2.0, sha256 "));
    CHECK(contains(changed.out, "The call fails with the same error.\n"));
    std::filesystem::remove(plugin);
    const Outcome gone = run_program_in(folder.path(), replay, "COLUMNS=80");
    CHECK(contains(gone.out, ", is not found\n"));
    CHECK(contains(gone.out, "no op is named 'plain.add_one'"));
    CHECK(gone.code == 1);
  }

  TEST_CASE("without the variable, and where nothing fails, nothing is kept") {
    const Workspace folder;
    CHECK(run_program_in(folder.path(), "call mm f32[2,3] f32[2,3]").code == 1);
    CHECK(run_program_in(folder.path(), "call mm f32[2,3] f32[3,2]", "TENON_KEEP_FAILURES=kept")
              .code == 0);
    CHECK_FALSE(std::filesystem::exists(folder.path("kept")));
  }

  TEST_CASE("a folder that cannot be written leaves the message of the call as it is") {
    const Workspace folder;
    folder.write("file", "x");
    const Outcome plain = run_program_in(folder.path(), "call mm f32[2,3] f32[2,3]");
    const Outcome outcome =
        run_program_in(folder.path(), "call mm f32[2,3] f32[2,3]", "TENON_KEEP_FAILURES=file");
    CHECK(outcome.code == 1);
    CHECK(contains(outcome.error, plain.error));
  }

  TEST_CASE("a training keeps the call that ends it") {
    const Workspace folder(true);
    std::string config = folder.read("blobs.json");
    const size_t place = config.find("\"ReLU\"");
    REQUIRE(place != config.npos);
    REQUIRE(config.find('}', place) != config.npos);
    config.insert(config.find('}', place) + 1, R"(, {"type": "Flatten", "start_dim": 5})");
    folder.write("bad.json", config);
    const Outcome outcome =
        run_program_in(folder.path(), "run bad.json -q", "TENON_KEEP_FAILURES=kept");
    CHECK(outcome.code == 1);
    REQUIRE(std::filesystem::exists(folder.path("kept")));
    CHECK(contains(file_in(folder.path("kept")), "/failure-"));
  }

  TEST_CASE("--under starts the program with this one and the same arguments") {
    const Workspace folder;
    run_program_in(folder.path(), "call mm f32[2,3] f32[2,3]", "TENON_KEEP_FAILURES=kept");
    const std::string file = file_in(folder.path("kept"));
    const Outcome echoed =
        run_program_in(folder.path(), "--threads 1 replay " + file + " --json --under echo");
    CHECK(echoed.code == 0);
    CHECK(contains(echoed.out, "--threads 1 replay " + file + " --json\n"));
    folder.write("gdb", "#!/bin/sh\necho gdb \"$@\"\n");
    std::filesystem::permissions(folder.path("gdb"), std::filesystem::perms::owner_all);
    const Outcome debugged = run_program_in(folder.path(), "replay " + file + " --under ./gdb");
    CHECK(contains(debugged.out, "gdb --args /"));
    const Outcome none =
        run_program_in(folder.path(), "replay " + file + " --under no-such-program");
    CHECK(none.code == 1);
    CHECK(contains(none.error, "cannot start 'no-such-program'"));
    CHECK(run_program_in(folder.path(), "replay " + file + " --under env").code == 1);
  }

  TEST_CASE("files that are not of a call are refused") {
    const Workspace folder(true);
    CHECK(run_program_in(folder.path(), "call abs 1.0 -o w.safetensors").code == 0);
    const Outcome outcome = run_program_in(folder.path(), "replay w.safetensors");
    CHECK(outcome.code == 1);
    CHECK(contains(outcome.error, "this is not the file of a failing call"));
    CHECK(run_program_in(folder.path(), "replay blobs.csv").code == 1);
    CHECK(run_program_in(folder.path(), "replay none").code == 1);
  }
}
