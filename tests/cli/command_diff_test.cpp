// tenon run --trace and tenon diff.
#include <filesystem>
#include <sstream>

#include <doctest/doctest.h>

#include "program.hpp"

namespace {

void check_columns(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) CHECK_MESSAGE(line.size() <= 80, line);
}

}  // namespace

TEST_SUITE("diff") {
  TEST_CASE("a run with a trace trains the same weights, and threads change no bit") {
    const Workspace folder(true);
    CHECK(run_program_in(folder.path(), "run blobs.json -q").code == 0);
    const std::string weights = folder.read("blobs.safetensors");
    CHECK(run_program_in(folder.path(), "run blobs.json -q --trace a.trace --threads 1").code == 0);
    CHECK((folder.read("blobs.safetensors") == weights));
    CHECK(run_program_in(folder.path(), "run blobs.json -q --trace b.trace --threads 2").code == 0);
    const Outcome outcome = run_program_in(folder.path(), "diff a.trace b.trace", "COLUMNS=80");
    CHECK(outcome.code == 0);
    CHECK(contains(outcome.out, " calls compared: all bits are equal\n"));
    CHECK(contains(outcome.out, "  threads: 1 and 2\n"));
    check_columns(outcome.out);
  }

  TEST_CASE("the first call that differs is printed with provider, arguments and worst element") {
    const Workspace folder(true);
    CHECK(run_program_in(folder.path(), "run blobs.json -q --epochs 1 --trace a.trace").code == 0);
    CHECK(run_program_in(folder.path(), "run blobs.json -q --epochs 1 --trace b.trace --seed 9")
              .code == 0);
    const Outcome outcome = run_program_in(folder.path(), "diff a.trace b.trace", "COLUMNS=80");
    CHECK(outcome.code == 1);
    for (const char* part :
         {" differ; the first:\n\n  op         randperm\n", "  place      call 0\n",
          "  provider   math\n", "  arguments  72\n", "  worst      [", "of the largest element",
          "  operands   are equal", "  seed: 3 and 9\n"})
      CHECK_MESSAGE(contains(outcome.out, part), part);
    check_columns(outcome.out);
    const tenon::Json document =
        run_program_in(folder.path(), "diff a.trace b.trace --json").json();
    CHECK(document["outcome"].text() == "differ");
    CHECK(document["first"]["one"]["op"].text() == "randperm");
    CHECK(document["first"]["element"]["place"].size() == 1);
    CHECK(document["notes"][0].text() == "seed: 3 and 9");
  }

  TEST_CASE(
      "an evaluation by other weights differs where they are read, and a tolerance allows it") {
    const Workspace folder(true);
    for (const char* seed : {"1", "2"}) {
      const std::string name = seed;
      CHECK(run_program_in(folder.path(), "run blobs.json -q --seed " + name).code == 0);
      std::filesystem::rename(folder.path("blobs.safetensors"), folder.path(name + ".safetensors"));
    }
    CHECK(run_program_in(folder.path(),
                         "predict blobs.json blobs.csv --weights 1.safetensors -o "
                         "p.csv --trace a.trace")
              .code == 0);
    CHECK(run_program_in(folder.path(),
                         "predict blobs.json blobs.csv --weights 2.safetensors -o "
                         "p.csv --trace b.trace")
              .code == 0);
    const tenon::Json found = run_program_in(folder.path(), "diff a.trace b.trace --json").json();
    CHECK(found["first"]["one"]["module"].text() == "0 (Linear)");
    CHECK(found["first"]["operands_differ"].as_bool());
    CHECK(run_program_in(folder.path(), "diff a.trace b.trace --tolerance 1").code == 1);
    CHECK(run_program_in(folder.path(), "diff a.trace a.trace --tolerance 1").code == 0);
  }

  TEST_CASE("runs whose sequences part show both sides") {
    const Workspace folder(true);
    std::string config = folder.read("blobs.json");
    CHECK(run_program_in(folder.path(), "run blobs.json -q --epochs 1 --trace a.trace").code == 0);
    const size_t place = config.find("\"ReLU\"");
    REQUIRE(place != config.npos);
    folder.write("other.json", config.replace(place, 6, "\"Tanh\""));
    CHECK(run_program_in(folder.path(), "run other.json -q --epochs 1 --trace b.trace").code == 0);
    const Outcome outcome = run_program_in(folder.path(), "diff a.trace b.trace", "COLUMNS=80");
    CHECK(outcome.code == 1);
    for (const char* part : {"The runs cannot be compared from there on: call ", "  first\n",
                             "  second\n", "  > ", "relu(", "tanh(", "  title: ", "  config: "})
      CHECK_MESSAGE(contains(outcome.out, part), part);
    check_columns(outcome.out);
  }

  TEST_CASE("tensors by name of another runtime are looked for in the trace") {
    const Workspace folder(true);
    CHECK(run_program_in(folder.path(), "run blobs.json -q").code == 0);
    CHECK(run_program_in(folder.path(), "predict blobs.json blobs.csv -o p.npy --trace a.trace")
              .code == 0);
    CHECK(run_program_in(folder.path(), "call abs p.npy -o v.safetensors").code == 0);
    CHECK(run_program_in(folder.path(), "call mul p.npy 1.0 -o same.safetensors").code == 0);
    CHECK(run_program_in(folder.path(), "call mul p.npy 1.5 -o w.safetensors").code == 0);
    CHECK(run_program_in(folder.path(), "diff a.trace same.safetensors").code == 0);
    const Outcome outcome =
        run_program_in(folder.path(), "diff a.trace w.safetensors", "COLUMNS=80");
    CHECK(outcome.code == 1);
    CHECK(contains(outcome.out, "  tensor     result\n"));
    CHECK(run_program_in(folder.path(), "diff same.safetensors same.safetensors").code == 0);
    CHECK(run_program_in(folder.path(), "diff same.safetensors w.safetensors").code == 1);
    CHECK(run_program_in(folder.path(), "diff w.safetensors a.trace").code == 2);
  }

  TEST_CASE("files that are not traces are refused, and traces overwrite nothing else") {
    const Workspace folder(true);
    const std::string data = folder.read("blobs.csv");
    const Outcome none = run_program_in(folder.path(), "diff blobs.csv blobs.csv");
    CHECK(none.code == 1);
    CHECK(contains(none.error, "'blobs.csv': this is not a trace of results"));
    CHECK(run_program_in(folder.path(), "diff no.trace no.trace").code == 1);
    const Outcome refused = run_program_in(folder.path(), "run blobs.json -q --trace blobs.csv");
    CHECK(refused.code == 1);
    CHECK(folder.read("blobs.csv") == data);
    CHECK(run_program_in(folder.path(), "run blobs.json -q --trace t --profile-trace t").code == 1);
    for (const char* two : {"--trace t --log t", "--log t --trace t", "--log t --profile-trace t",
                            "--plot t.svg --log t.svg", "--report t.html --trace t.html"}) {
      const Outcome outcome =
          run_program_in(folder.path(), std::string("run blobs.json -q ") + two);
      CHECK_MESSAGE(outcome.code == 1, two);
      CHECK_MESSAGE(contains(outcome.error, " name one file"), outcome.error);
    }
  }

  TEST_CASE("a report or a profile beside a trace adds no call to it") {
    const Workspace folder(true);
    const std::string run = "run blobs.json -q --epochs 1 --trace ";
    CHECK(run_program_in(folder.path(), run + "plain.trace").code == 0);
    CHECK(run_program_in(folder.path(), run + "both.trace --report r.html --profile").code == 0);
    const Outcome outcome = run_program_in(folder.path(), "diff plain.trace both.trace");
    CHECK_MESSAGE(outcome.code == 0, outcome.out);
  }

  TEST_CASE("a trace that cannot be written takes no results away") {
    const Workspace folder(true);
    if (!std::filesystem::exists("/dev/full")) return;
    const Outcome outcome =
        run_program_in(folder.path(), "run blobs.json -q --epochs 1 --trace /dev/full --json");
    CHECK(outcome.code == 1);
    CHECK(outcome.json()["epochs"].defined());
    CHECK(
        contains(outcome.error, "the trace '/dev/full' is not complete: No space left on device"));
    CHECK(run_program_in(folder.path(), "predict blobs.json blobs.csv -o p.csv --trace /dev/full")
              .code == 1);
    CHECK(std::filesystem::exists(folder.path("p.csv")));
  }

  TEST_CASE("a run that was killed within the first line is not taken for a file of tensors") {
    const Workspace folder(true);
    CHECK(run_program_in(folder.path(), "run blobs.json -q --epochs 1 --trace a.trace").code == 0);
    const std::string text = folder.read("a.trace");
    folder.write("cut.trace", text.substr(0, 40));
    const Outcome outcome = run_program_in(folder.path(), "diff a.trace cut.trace");
    CHECK(outcome.code == 1);
    CHECK(contains(outcome.out, "0 calls compared\n"));
    CHECK(contains(outcome.out, "the second run did not come to its end"));
  }
}
