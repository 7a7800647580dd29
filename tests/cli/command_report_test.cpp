// tenon run --report: the page of a run, whole or broken off.
#include <cmath>
#include <csignal>
#include <filesystem>

#include <doctest/doctest.h>

#include "program.hpp"

namespace {

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_SUITE("report") {
  TEST_CASE("a training has a page with each section, and trains the same weights") {
    const Workspace folder(true);
    CHECK(run_program_in(folder.path(), "run blobs.json -q").code == 0);
    const std::string weights = folder.read("blobs.safetensors");
    const Outcome outcome = run_program_in(folder.path(), "run blobs.json -q --report r.html");
    CHECK(outcome.code == 0);
    CHECK_FALSE(contains(outcome.out, "profile of"));
    CHECK((folder.read("blobs.safetensors") == weights));
    const std::string page = folder.read("r.html");
    for (const char* part :
         {"<h2>Curves</h2>", "<h2>Confusion matrix</h2>", "<h2>Samples with the largest loss</h2>",
          "<h2>Model</h2>", "<h2>Time by op</h2>", "<h2>Time by module</h2>",
          "<h2>Versions and hashes</h2>", "class=\"state finished\"",
          "<code>nn.functional.linear</code>", "data:image/svg+xml;base64,",
          "18 samples of the test part", ">131</b>"})
      CHECK_MESSAGE(contains(page, part), part);
    CHECK(page.substr(page.size() - 8) == "</html>\n");
    // One file: nothing else is loaded, nothing runs.
    CHECK_FALSE(contains(page, "<script"));
    CHECK_FALSE(contains(page, "http://"));
    CHECK_FALSE(contains(page, "https://"));
    CHECK(count(page, "<b>sample ") == 18);
  }

  TEST_CASE("the confusion matrix adds up to the samples of the part") {
    const Workspace folder(true);
    CHECK(run_program_in(folder.path(), "run blobs.json -q --epochs 1 --report r.html").code == 0);
    const std::string page = folder.read("r.html");
    const size_t start = page.find("class=\"confusion\""), end = page.find("</table>", start);
    int64_t sum = 0;
    for (size_t at = page.find("<td style", start); at < end; at = page.find("<td style", at + 1))
      sum += std::stoll(page.substr(page.find('>', at) + 1));
    CHECK(sum == 18);
  }

  TEST_CASE("an evaluation has a page without curves") {
    const Workspace folder(true);
    CHECK(run_program_in(folder.path(), "run blobs.json -q").code == 0);
    CHECK(
        run_program_in(folder.path(), "run blobs.json --evaluate blobs.safetensors --report r.html")
            .code == 0);
    const std::string page = folder.read("r.html");
    CHECK(contains(page, "evaluation with seed"));
    CHECK_FALSE(contains(page, "<h2>Curves</h2>"));
    CHECK(contains(page, "<h2>Confusion matrix</h2>"));
  }

  TEST_CASE("a training of numbers has its worst samples, and no confusion matrix") {
    const Workspace folder(true);
    CHECK(run_program_in(folder.path(), "run plane.json -q --report r.html").code == 0);
    const std::string page = folder.read("r.html");
    CHECK(contains(page, "<h2>Samples with the largest loss</h2>"));
    CHECK_FALSE(contains(page, "<h2>Confusion matrix</h2>"));
  }

  TEST_CASE("the worst samples are those with the largest loss of the config") {
    const Workspace folder;
    std::string rows = "x,y\n";
    for (int i = 1; i <= 20; ++i)
      rows += std::to_string(i) + ".5,1.0\n-" + std::to_string(i) + ".5,0.0\n";
    folder.write("signs.csv", rows);
    folder.write("signs.json", R"({
      "schema_version": 1, "data": {"path": "signs.csv", "targets": "y"},
      "model": {"type": "Linear", "in_features": 1, "out_features": 1},
      "loss": "nn.functional.binary_cross_entropy_with_logits",
      "optimizer": {"type": "sgd", "learning_rate": 0.05},
      "training": {"epochs": 40, "batch_size": 41}, "output": {"weights": "w.safetensors"}})");
    const Outcome outcome = run_program_in(folder.path(), "run signs.json -q --report r.html");
    CHECK_MESSAGE(outcome.code == 0, outcome.error);
    const std::string page = folder.read("r.html");
    CHECK(contains(page, "by nn.functional.binary_cross_entropy_with_logits"));
    // The first one is near the border; by squared error it would be one far from it, and right.
    const size_t first = page.find(", output ", page.find("<b>sample "));
    REQUIRE(first != page.npos);
    CHECK(std::abs(std::stod(page.substr(first + 9))) < 4);
  }

  TEST_CASE("a page that cannot be written at the end takes no results away") {
    const Workspace folder(true);
    std::filesystem::create_directory(folder.path("sub"));
    const std::filesystem::path page = folder.path("sub/r.html");
    RunningProgram program(folder.path(),
                           {"run", "blobs.json", "--epochs", "60", "--report", page.string()});
    REQUIRE(program.says("epoch "));
    std::filesystem::remove_all(folder.path("sub"));
    CHECK(program.end(0) == 1);
    CHECK(std::filesystem::exists(folder.path("blobs.safetensors")));
    CHECK(contains(program.error(), "cannot write the report"));
    CHECK_FALSE(contains(program.error(), "tenon: IOError: cannot write the report '" +
                                              page.string() + "': tenon:"));
  }

  TEST_CASE("the report of an interrupted run says where it ended") {
    const Workspace folder(true);
    std::string config = folder.read("blobs.json");
    config.replace(config.find("\"epochs\": 12"), 12, "\"epochs\": 1000000");
    folder.write("long.json", config);
    RunningProgram program(folder.path(), {"run", "long.json", "--report", "r.html"});
    REQUIRE(program.says("epoch "));
    CHECK(contains(folder.read("r.html"), "class=\"state running\""));
    CHECK(program.end(SIGINT) == 130);
    const std::string page = folder.read("r.html");
    CHECK(contains(page, "class=\"state interrupted\""));
    CHECK(contains(page, " of 1,000,000 epochs done"));
  }

  TEST_CASE("a killed run leaves the page of its last state, whole") {
    const Workspace folder(true);
    std::string config = folder.read("blobs.json");
    config.replace(config.find("\"epochs\": 12"), 12, "\"epochs\": 1000000");
    folder.write("long.json", config);
    RunningProgram program(folder.path(), {"run", "long.json", "--report", "r.html"});
    REQUIRE(program.says("epoch "));
    CHECK(program.end(SIGKILL) == 128 + SIGKILL);
    const std::string page = folder.read("r.html");
    CHECK(contains(page, "class=\"state running\""));
    CHECK(page.substr(page.size() - 8) == "</html>\n");
  }

  TEST_CASE("the report of a run that fails has the error as text") {
    const Workspace folder(true);
    std::string config = folder.read("blobs.json");
    const std::string rate = "\"learning_rate\": 0.5";
    config.replace(config.find(rate), rate.size(), "\"learning_rate\": 1e30");
    folder.write("bad.json", config);
    const Outcome outcome = run_program_in(folder.path(), "run bad.json -q --report r.html");
    CHECK(outcome.code == 1);
    const std::string page = folder.read("r.html");
    CHECK(contains(page, "class=\"state failed\""));
    CHECK(contains(page, "<pre class=\"fault\">"));
  }

  TEST_CASE("names of files are text on the page") {
    const Workspace folder(true);
    const std::string name = "a<b>&\"c.json";
    folder.write(name, folder.read("blobs.json"));
    CHECK(run_program_in(folder.path(), "run 'a<b>&\"c.json' -q --epochs 1 --report r.html").code ==
          0);
    const std::string page = folder.read("r.html");
    CHECK_FALSE(contains(page, "a<b>"));
    CHECK(contains(page, "<h1>a&lt;b&gt;&amp;"));
  }

  TEST_CASE("a report that cannot be written is said before the training") {
    const Workspace folder(true);
    for (const char* file : {"no/r.html", "blobs.csv", "r.txt"}) {
      const Outcome outcome =
          run_program_in(folder.path(), std::string("run blobs.json -q --report ") + file);
      CHECK_MESSAGE(outcome.code != 0, file);
      CHECK_FALSE(std::filesystem::exists(folder.path("blobs.safetensors")));
    }
  }
}
