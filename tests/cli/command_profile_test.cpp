// tenon run --profile, tenon predict --profile: tables, documents and files of events.
#include <filesystem>
#include <sstream>

#include <doctest/doctest.h>

#include "program.hpp"

TEST_SUITE("profile") {
  TEST_CASE("a run with a profile trains the same weights, and prints tables that fit 80 columns") {
    const Workspace folder(true);
    CHECK(run_program_in(folder.path(), "run blobs.json -q").code == 0);
    const std::string weights = folder.read("blobs.safetensors");
    const Outcome outcome =
        run_program_in(folder.path(), "run blobs.json -q --profile", "COLUMNS=80");
    CHECK(outcome.code == 0);
    CHECK((folder.read("blobs.safetensors") == weights));
    for (const char* text :
         {"\nprofile of ", "\nOP", "\nPLUGIN ", "\nMODULE ", "\nnn.functional.linear\n",
          "\n0 (Linear) ", "\n(backward) ", "\n(optimizer) ", "MUL-ADDS", "\nLIMIT: part of "})
      CHECK_MESSAGE(contains(outcome.out, text), text);
    std::istringstream lines(outcome.out);
    for (std::string line; std::getline(lines, line);) CHECK_MESSAGE(line.size() <= 80, line);
  }

  TEST_CASE("without the option nothing is said of a profile") {
    const Workspace folder(true);
    const Outcome outcome = run_program_in(folder.path(), "run blobs.json -q --json");
    CHECK(outcome.code == 0);
    CHECK_FALSE(outcome.json()["profile"].defined());
  }

  TEST_CASE("--json has the sums of the profile, and an evaluation has one, too") {
    const Workspace folder(true);
    const tenon::Json trained =
        run_program_in(folder.path(), "run blobs.json -q --json --profile").json()["profile"];
    int64_t products = 0;
    double share = 0;
    for (int64_t i = 0; i < trained["ops"].size(); ++i) {
      share += trained["ops"][i]["share"].number();
      if (trained["ops"][i]["op"].text() == "nn.functional.linear")
        products = trained["ops"][i]["multiply_adds"].integer();
    }
    CHECK(products > 0);
    CHECK(share == doctest::Approx(1));
    CHECK(trained["seconds"].number() >= trained["seconds_in_calls"].number());
    const tenon::Json evaluated =
        run_program_in(folder.path(),
                       "run blobs.json --json --profile --evaluate blobs.safetensors")
            .json()["profile"];
    for (int64_t i = 0; i < evaluated["modules"].size(); ++i)
      CHECK(evaluated["modules"][i]["module"].text() != "(backward)");
    CHECK(evaluated["ops"].size() > 0);
  }

  TEST_CASE("the file of events is a trace whose calls are those of the profile") {
    const Workspace folder(true);
    const tenon::Json profile =
        run_program_in(folder.path(), "run blobs.json -q --json --profile-trace trace.json")
            .json()["profile"];
    const tenon::Json events = tenon::Json::parse(folder.read("trace.json"))["traceEvents"];
    int64_t calls = 0, traced = 0;
    for (int64_t i = 0; i < profile["ops"].size(); ++i)
      calls += profile["ops"][i]["calls"].integer();
    for (int64_t i = 0; i < events.size(); ++i) {
      const std::string kind = events[i]["cat"].text();
      traced += kind == "op" || kind == "backward" ? 1 : 0;
    }
    CHECK(traced == calls);
    CHECK(events[0]["args"]["name"].text() == "blobs.json");
  }

  TEST_CASE("the file of events overwrites nothing that the run reads or writes") {
    const Workspace folder(true);
    const std::string data = folder.read("blobs.csv");
    const Outcome outcome =
        run_program_in(folder.path(), "run blobs.json -q --profile-trace blobs.csv");
    CHECK(outcome.code == 1);
    CHECK(contains(outcome.error, "cannot write 'blobs.csv'"));
    CHECK(folder.read("blobs.csv") == data);
    CHECK(
        contains(run_program_in(folder.path(), "run blobs.json -q --profile-trace no/t.json").error,
                 "no/t.json"));
    CHECK(run_program_in(folder.path(), "run blobs.json -q --profile-trace t.json").code == 0);
    CHECK(run_program_in(folder.path(), "run blobs.json -q --profile-trace t.json").code == 0);
    for (const char* command : {"predict blobs.json blobs.csv -o p.csv --profile-trace blobs.csv",
                                "predict blobs.json blobs.csv -o p.csv --profile-trace p.csv"}) {
      CAPTURE(command);
      const Outcome refused = run_program_in(folder.path(), command);
      CHECK(refused.code == 1);
      CHECK(contains(refused.error, "not a trace of calls"));
    }
    CHECK(folder.read("blobs.csv") == data);
    CHECK(contains(
        run_program_in(folder.path(), "run blobs.json -q --plot s.svg --profile-trace s.svg").error,
        "--profile-trace and --plot name one file"));
  }

  TEST_CASE("predict has a profile as well") {
    const Workspace folder(true);
    CHECK(run_program_in(folder.path(), "run blobs.json -q").code == 0);
    const Outcome outcome = run_program_in(
        folder.path(), "predict blobs.json blobs.csv -o p.csv --profile --profile-trace t.json");
    CHECK(outcome.code == 0);
    CHECK(contains(outcome.out, "profile of "));
    CHECK(std::filesystem::exists(folder.path("t.json")));
  }
}
