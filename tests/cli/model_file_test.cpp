// Files of models in place of configs, in a format of a plugin of the tests.
#include <doctest/doctest.h>

#include <tenon/state/numpy_file.hpp>
#include <tenon/tenon.hpp>

#include "program.hpp"

namespace {

const std::string kPlugin = "--plugin-path " TENON_FIXTURES "/toy_models ";

// A folder with the model x[N, 3] -> [N, 2].
struct ToyFolder : Workspace {
  ToyFolder() : Workspace(true) { write("net.toy", "x 3 2\n1 2 3 4 5 6\n"); }
  Outcome run(const std::string& arguments) const {
    return run_program_in(path(), kPlugin + arguments);
  }
};

}  // namespace

TEST_SUITE("model files") {
  TEST_CASE("a plan of a model's file has the shapes of one call") {
    const ToyFolder folder;
    const Outcome plan = folder.run("plan net.toy --input x=5x3");
    CHECK(plan.error == "");
    CHECK(plan.code == 0);
    CHECK(contains(plan.out, "shapes for input [5, 3]"));
    CHECK(contains(plan.out, "toy.Net"));
    CHECK(contains(plan.out, "no faults found\n"));
    CHECK(folder.run("plan net.toy --input x=5x3 --json").json()["model"].defined());
  }

  TEST_CASE("--prepared lists the calls of a model's file for the given inputs") {
    const ToyFolder folder;
    const Outcome plan = folder.run("plan net.toy --prepared --input x=5x3");
    CHECK(plan.error == "");
    CHECK(contains(plan.out, "\nprepared for f32[5, 3]\n"));
  }

  TEST_CASE("predict computes files of inputs, and writes or prints outputs by name") {
    const ToyFolder folder;
    tenon::state::save_npy(folder.path("x.npy"), tenon::tensor({{1.f, 0.f, 0.f}, {0.f, 1.f, 1.f}}));
    CHECK(contains(folder.run("predict net.toy x.npy").out, "output  f32    [2,2]"));
    REQUIRE(folder.run("predict net.toy x=x.npy -o y.npz").code == 0);
    const auto outputs = tenon::state::load_npz(folder.path("y.npz"));
    REQUIRE(outputs.size() == 1);
    CHECK(outputs[0].first == "output");
    CHECK(outputs[0].second.to_vector<float>() == std::vector<float>{1, 2, 8, 10});
    tenon::state::save_npz(folder.path("in.npz"), {{"x", tenon::ones({1, 3})}});
    REQUIRE(folder.run("predict net.toy in.npz -o y.npy").code == 0);
    CHECK(tenon::state::load_npy(folder.path("y.npy")).to_vector<float>() ==
          std::vector<float>{9, 12});
  }

  TEST_CASE("bench measures calls of a model's file, prepared or as it is, in streams") {
    const ToyFolder folder;
    const auto bench = [&](const std::string& options) {
      const Outcome outcome =
          folder.run("bench net.toy --input x=4x3 --calls 20 --json " + options);
      CHECK(outcome.error == "");
      return outcome.json();
    };
    const tenon::Json prepared = bench("");
    CHECK(prepared["prepared"].as_bool());
    CHECK(prepared["calls"].integer() == 20);
    CHECK(prepared["least_seconds"].number() <= prepared["median_seconds"].number());
    CHECK(prepared["peak_memory"].integer() > 0);
    CHECK_FALSE(bench("--as-is")["prepared"].as_bool());
    const tenon::Json streams = bench("--streams 2");
    CHECK(streams["calls"].integer() == 40);
    CHECK(streams["threads"].integer() == 1);
    CHECK(contains(folder.run("bench net.toy --input x=4x3 --calls 20").out, "MEDIAN"));
    CHECK(folder.run("bench net.toy --input x=4x3 --calls 20 --seconds 1").code == 2);
    CHECK(folder.run("bench net.toy --input z=4x3").code == 1);
  }

  TEST_CASE("run calls a model's file once, the same for a seed") {
    const ToyFolder folder;
    const auto mean = [&](const std::string& options) {
      const Outcome outcome = folder.run("run net.toy --input x=4x3 --json " + options);
      CHECK(outcome.error == "");
      return outcome.json()["outputs"][0]["mean"].number();
    };
    CHECK(mean("--seed 7") == mean("--seed 7"));
    CHECK(mean("--seed 7") != mean("--seed 8"));
    CHECK(folder.run("run net.toy --input x=4x3 --epochs 2").code == 2);
  }

  TEST_CASE("check compares the gradients of a model's file with differences") {
    const ToyFolder folder;
    const Outcome outcome = folder.run("check net.toy --input x=2x3");
    CHECK(outcome.code == 0);
    CHECK(contains(outcome.out, "toy.Net"));
  }

  TEST_CASE("a config's model is the file beside it, with settings by names of parameters") {
    const ToyFolder folder;
    const auto plan = [&](const std::string& model) {
      folder.write("c.json",
                   R"({"schema_version": 1, "model": )" + model + R"(, "input": {"shape": [3]}})");
      return run_program(kPlugin + "plan " + folder.path("c.json").string());
    };
    for (const char* model : {R"("./net.toy")", R"("net.toy")", R"({"type": "net.toy"})",
                              R"({"type": "net.toy", "frozen": "weight"})",
                              R"({"type": "Sequential", "layers": ["net.toy", "ReLU"]})"}) {
      CAPTURE(model);
      const Outcome outcome = plan(model);
      CHECK(outcome.error == "");
      CHECK(outcome.code == 0);
      CHECK(contains(outcome.out, "frozen") ==
            (std::string(model).find("frozen") != std::string::npos));
    }
    const Outcome refused = plan(R"({"type": "net.toy", "frozen": ["wait*"]})");
    CHECK(refused.code == 1);
    CHECK(
        contains(refused.error, "/model/frozen: no parameter of Net fits 'wait*'; it has weight"));
    const std::string unknown = plan(R"("other/net.abc")").error;
    CHECK(contains(unknown, "c.json:1:32: /model"));
    CHECK(contains(unknown, "no plugin opens the file 'other/net.abc' as a model; plugins open "));
  }

  TEST_CASE("mistakes name the file, what was found, and what to give") {
    const ToyFolder folder;
    const auto error = [&](const std::string& arguments, int code) {
      const Outcome outcome = folder.run(arguments);
      CHECK(outcome.code == code);
      return outcome.error;
    };
    CHECK(contains(
        error("plan net.toy", 1),
        "net.toy: the input 'x' has the open shape [N, 3]; give it, such as --input x=1x3"));
    CHECK(contains(error("plan net.toy --input y=1x3", 1), "net.toy: the model has no input 'y'"));
    CHECK(
        contains(error("plan net.toy --input x=1x4", 1),
                 "net.toy: the input 'x' is given with the shape [1, 4], the model takes [N, 3]"));
    CHECK(contains(error("plan net.toy --input x", 2),
                   "--input: found 'x', expected NAME=1x3x320x320"));
    CHECK(contains(error("predict net.toy x.txt", 1),
                   "cannot read inputs from 'x.txt': expected a file .npy, .npz or .safetensors"));
    CHECK(contains(error("plan blobs.json --input x=1x4", 2), "'blobs.json' is a config"));
    tenon::state::save_npy(folder.path("d.npy"), tenon::ones({1, 3}).to(tenon::f64));
    CHECK(contains(error("predict net.toy d.npy", 1),
                   "the input 'x' is given as f64, the model takes f32; convert it"));
    folder.write("bad.toy", "no numbers");
    CHECK(contains(error("plan bad.toy", 1), "bad.toy: this is not a toy model"));
    folder.write("net.abc", std::string("\0\1", 2));
    CHECK(contains(error("plan net.abc", 1),
                   "no plugin opens the file 'net.abc' as a model; plugins open"));
  }

  TEST_CASE("coverage of a format compares its complete list with conversions") {
    const ToyFolder folder;
    const tenon::Json newest = folder.run("coverage toy --json").json();
    CHECK(newest["version"].integer() == 3);
    CHECK(newest["counts"]["converted"].integer() == 3);
    CHECK(newest["counts"]["missing"].integer() == 1);
    const Outcome one = folder.run("coverage toy:1");
    CHECK(contains(one.out, "toy 1, 4 operators"));
    CHECK(contains(one.out, "missing 2"));
    CHECK(contains(one.out, "Gone, Negate"));
    CHECK(!contains(one.out, "acme"));
    CHECK(contains(folder.run("coverage toy:9").error,
                   "9 is not a version of 'toy': its complete list has 1 to 3"));
    CHECK(contains(folder.run("coverage toi:1").error,
                   "no plugin declares a complete list of operators of 'toi'"));
    folder.write("all.json", folder.run("coverage toy:3 --json").out);
    CHECK(folder.run("coverage toy:3 --baseline all.json").code == 0);
  }

  TEST_CASE(
      "coverage names the engine of a rule, which is not a conversion of the standard's operator") {
    const ToyFolder folder;
    const tenon::Json ops = folder.run("coverage toy:3 --json").json()["ops"];
    const auto find = [&](const std::string& name) {
      for (int64_t i = 0; i < ops.size(); ++i) {
        if (ops[i]["name"].text() == name) return ops[i];
      }
      return tenon::Json();
    };
    const tenon::Json both = find("Negate")["conversions"];
    REQUIRE(both.size() == 2);
    CHECK(both[0]["calls"].text() == "neg");
    CHECK(!both[0]["like"].defined());
    CHECK(both[1]["calls"].text() == "abs");
    CHECK(both[1]["like"].text() == "acme");
    CHECK(find("Flip")["how"].text() == "missing");
    CHECK(find("Flip")["conversions"][0]["like"].text() == "acme");
    CHECK(contains(folder.run("coverage toy:3").out, "acme"));
  }

  TEST_CASE(
      "coverage gives the reason that a complete list has for an operator without a conversion") {
    const ToyFolder folder;
    CHECK(contains(folder.run("coverage toy:3").out, "\n  Flip: mirrors are not read\n"));
    const tenon::Json ops = folder.run("coverage toy:3 --json").json()["ops"];
    for (int64_t i = 0; i < ops.size(); ++i) {
      CAPTURE(ops[i]["name"].text());
      CHECK(ops[i]["reason"].text("") ==
            (ops[i]["name"].text() == "Flip" ? "mirrors are not read" : ""));
    }
  }
}
