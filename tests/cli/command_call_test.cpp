// tenon call.
#include <cmath>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "program.hpp"

namespace {

std::string out(const std::string& arguments) {
  const Outcome outcome = run_program("call " + arguments);
  CAPTURE(outcome.error);
  CHECK(outcome.code == 0);
  return outcome.out;
}

std::string error(const std::string& arguments, int code) {
  const Outcome outcome = run_program("call " + arguments);
  CHECK(outcome.code == code);
  return outcome.error;
}

}  // namespace

TEST_SUITE("call") {
  TEST_CASE("numbers and lists are arguments, by place and by name") {
    CHECK(out("add 1 2") == "tensor(3)\n");
    CHECK(out("add -1 2.5 alpha=-2") == "tensor(-6.)\n");
    CHECK(out("mean '[[1, 2], [3, 4.5]]' dim=0") == "tensor([2.0000, 3.2500])\n");
    CHECK(out("reshape [1,2,3,4] [2,2]") == "tensor([[1, 2],\n        [3, 4]])\n");
    CHECK(out("cat '[[1,2],[3]]'") == "tensor([1, 2, 3])\n");
    CHECK(out("sum [True,false,true]") == "tensor(2)\n");
    CHECK(out("isnan '[nan, inf, -inf]'") == "tensor([ True, False, False])\n");
    CHECK(out("sum [1,2]:f64 dtype=f32") == "tensor(3.)\n");
  }

  TEST_CASE("sums of random lists are those of C++") {
    std::mt19937 random(3);
    for (int i = 0; i < 10; ++i) {
      int64_t expected = 0;
      std::string list = "[";
      for (int n = 0; n < 1 + i; ++n) {
        const auto number = static_cast<int64_t>(random() % 2001) - 1000;
        expected += number;
        list += (n == 0 ? "" : ",") + std::to_string(number);
      }
      CHECK(out("sum '" + list + "]'") == "tensor(" + std::to_string(expected) + ")\n");
    }
  }

  TEST_CASE("several results have their names") {
    CHECK(out("max [3,1] dim=0") == "values: tensor(3)\nindices: tensor(0)\n");
  }

  TEST_CASE("a part of the name finds an op, but not an internal one") {
    CHECK(out("leaky_relu 0.0") == "tensor(0.)\n");
    CHECK(error("avg_pool 1", 1).find("no op is named 'avg_pool'") != std::string::npos);
    CHECK(contains(error("ad 1", 1), "no op is named 'ad' (did you mean 'add'?)"));
  }

  TEST_CASE("gradients and tangents are those of the sum of the results") {
    CHECK(out("square '[1, -3]' --grad") ==
          "result: tensor([1., 9.])\ngradient of input: tensor([ 2., -6.])\n");
    CHECK(out("mul 2.0 5.0 --jvp") == "result: tensor(10.)\ntangent of result: tensor(7.)\n");
    CHECK(contains(error("eq 1.0 2.0 --grad", 1), "no result of eq has a gradient"));
  }

  TEST_CASE("with --grad whole numbers are f32, unless an argument has a dtype") {
    CHECK(out("mul [1,2] 3 --grad") ==
          "result: tensor([3., 6.])\ngradient of input: tensor([3., 3.])\n"
          "gradient of other: tensor(3.)\n");
    CHECK(contains(out("nn.functional.cross_entropy [[1,2,3]]:f32 [1] --grad"),
                   "gradient of input: tensor([[ 0.0900, -0.7553,  0.6652]])\n"));
    CHECK(contains(out("embedding [1] f32[3,2] --grad"), "gradient of weight: tensor([[0., 0.],"));
  }

  TEST_CASE("results are saved, and files are read by the ops of plugins") {
    const Workspace folder;
    const std::string in = folder.path().string();
    for (const char* file : {"x.npy", "x.npz", "x.safetensors"}) {
      CAPTURE(file);
      CHECK(out("square '[1, 2]:f32' -o " + in + "/" + file).empty());
      CHECK(out("sqrt " + in + "/" + file) == "tensor([1., 2.])\n");
    }
    folder.write("t.csv", "1,2\n3,4\n");
    CHECK(out("sum " + in + "/t.csv") == "tensor(10.)\n");
    CHECK(out("max '[3,1]' dim=0 -o " + in + "/two.npz").empty());
    CHECK(out("abs " + in + "/two.npz:values") == "tensor(3)\n");
    CHECK(contains(error("abs " + in + "/two.npz:value", 1), "(did you mean 'values'?)"));
    CHECK(contains(error("abs " + in + "/two.npz", 1), "the file has 2 tensors; name one"));
    folder.write("x.xyz", "1");
    CHECK(contains(error("abs " + in + "/x.xyz", 1), "no plugin has an op read_xyz for it"));
    CHECK(contains(error("abs none.npy", 1), "there is no such file"));
  }

  TEST_CASE("an image is its channels from 0 to 1") {
    const Workspace folder;
    const unsigned char bytes[] = {
        0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44,
        0x52, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x02, 0x08, 0x00, 0x00, 0x00, 0x00, 0x57,
        0xdd, 0x52, 0xf8, 0x00, 0x00, 0x00, 0x0e, 0x49, 0x44, 0x41, 0x54, 0x78, 0xda, 0x63, 0x60,
        0x08, 0x65, 0x58, 0xf5, 0x1f, 0x00, 0x03, 0xad, 0x01, 0xff, 0x7a, 0x93, 0x84, 0x7f, 0x00,
        0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82};
    folder.write("1.png", std::string(reinterpret_cast<const char*>(bytes), sizeof bytes));
    const std::string image = folder.path("1.png").string();
    const tenon::Json grey = run_program("call abs " + image + " --json").json()["results"][0];
    REQUIRE(grey["shape"].size() == 3);
    CHECK(grey["shape"][0].integer() == 1);
    const tenon::Json colour =
        run_program("call data.read_png " + image + " channels=3 --json").json()["results"][0];
    CHECK(colour["shape"][0].integer() == 3);
    // The three channels of grey are the grey one.
    for (int64_t i = 0; i < 12; ++i) {
      const double expected = grey["values"][i % 4].number();
      CHECK(expected >= 0);
      CHECK(expected <= 1);
      CHECK(colour["values"][i].number() == expected);
    }
    CHECK(run_program("call data.read_png " + image + " channels=5").code == 1);
    CHECK(run_shell("cat " + image + " | " TENON_PROGRAM " call abs - --json").out ==
          run_program("call abs " + image + " --json").out);
  }

  TEST_CASE("complex numbers are written as they are printed") {
    CHECK(contains(out("mul 1+2j '[1, -1j]' --json"), "\"dtype\": \"c64\""));
    CHECK(out("real '[1+2j, -3.5e+1-4e-1j, 2j]'") == "tensor([  1., -35.,   0.])\n");
    CHECK(out("imag '[1+2j, -3.5e+1-4e-1j, 2j]'") == "tensor([ 2.0000, -0.4000,  2.0000])\n");
    CHECK(contains(out("abs 3+4j:c128"), "tensor(5., dtype=f64)"));
    CHECK(contains(error("abs 1+2j:f32", 1), "complex numbers are c64 or c128, not f32"));
    CHECK(contains(error("full [2] 1+2j", 1), "expected Scalar"));
    CHECK(contains(error("abs 1+j", 1), "expected a number such as 2, 0.5 or 1+2j"));
    // A printed number is read again.
    const std::string printed = out("mul 1.5-2j 1j");
    CHECK(printed.find("tensor(") == 0);
    CHECK(out("mul " + printed.substr(7, printed.find(')') - 7) + " 1") == printed);
  }

  TEST_CASE("a reduction that needs a dimension is that of all elements without one") {
    CHECK(out("max '[[3,1],[2,5]]'") == "values: tensor(5)\nindices: tensor(3)\n");
    CHECK(out("min '[[3,1],[2,5]]' keepdim=True") == "values: tensor([1])\nindices: tensor([1])\n");
    CHECK(contains(error("softmax [1,2]", 2), "needs 'dim'"));
  }

  TEST_CASE("standard input has a list, rows of numbers, or the bytes of a file") {
    const std::string program = TENON_PROGRAM;
    CHECK(run_shell("echo '[1, 2]' | " + program + " call sum -").out == "tensor(3)\n");
    CHECK(run_shell("seq 10 | " + program + " call sum -").out == "tensor(55)\n");
    CHECK(run_shell("printf '1,2\\n3,4\\n' | " + program + " call sum - dim=0").out ==
          "tensor([4, 6])\n");
    const Workspace folder;
    const std::string file = folder.path("x.npy").string();
    CHECK(out("abs [-1,2] -o " + file).empty());
    CHECK(run_shell("cat " + file + " | " + program + " call sum -").out == "tensor(3)\n");
    CHECK(run_shell("echo a b | " + program + " call sum - 2>&1").code == 1);
  }

  TEST_CASE("random operands follow the seed") {
    const std::string once = out("abs f32[3] --seed 1");
    CHECK(out("abs f32[3] --seed 1") == once);
    CHECK(out("abs f32[3] --seed 2") != once);
    CHECK(run_program("call abs i64[2,3] --json").json()["results"][0]["shape"].size() == 2);
  }

  TEST_CASE("--why says what runs, --time how long it takes, --json both") {
    CHECK(contains(out("add 1 2 --why"), "  runs       kernel, plugin math"));
    CHECK(contains(out("add 1 2 --time"), " a call, the median of "));
    const tenon::Json document = run_program("call add 1 2 --why --time --json").json();
    CHECK(document["op"].text() == "add");
    CHECK(document["results"][0]["values"][0].integer() == 3);
    CHECK(document["calls"].integer() > 0);
    CHECK(document["why"].is_object());
  }

  TEST_CASE("arguments that are missing or given twice are wrong usage") {
    CHECK(contains(error("add 1", 2),
                   "add needs 'other'; it is called as add(input, other, *, alpha=1, out=None)"));
    CHECK(contains(error("add", 2), "add needs 'input' and 'other'"));
    CHECK(contains(error("add 1 2 input=3", 2), "add got 'input' twice"));
    CHECK(contains(error("add input=1 2", 2), "add got 'input' twice"));
    CHECK(out("add other=1 input=[2]") == "tensor([3])\n");
  }

  TEST_CASE("a module, type or plugin in place of an op is named as such") {
    CHECK(contains(error("Linear 1", 1),
                   "no op is named 'Linear': it is a module, see `tenon show Linear`"));
    CHECK(contains(error("math 1", 1), "it is a plugin"));
    CHECK(contains(run_program("signature Linear").error, "it is a module"));
  }

  TEST_CASE("what cannot be read names the argument") {
    CHECK(contains(error("add 1 x", 1), "the argument 'other' cannot be read from 'x'"));
    CHECK(
        contains(error("sum [[1,2],[3]]", 1), "found a list of 1 element, where the first has 2"));
    CHECK(contains(error("add 1 2 alpah=3", 2),
                   "add has no parameter 'alpah' (did you mean 'alpha'?)"));
    CHECK(contains(error("add 1 2 3", 2), "add takes 2 arguments by position"));
    CHECK(contains(error("reshape [1,2] [1.5]", 1), "expected whole numbers"));
  }
}
