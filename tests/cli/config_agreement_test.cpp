// plan and run read with the same eyes: what one refuses the other refuses.
#include <random>
#include <vector>

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "printed.hpp"
#include "program.hpp"

namespace {

struct Verdict {
  int plan, run;
  std::string out, error;
};

// Nothing waits: a reader that hangs is ended by `timeout`, with code 124.
Verdict verdict(const Workspace& folder, const std::string& config) {
  folder.write("c.json", config);
  const Outcome plan = run_program_in(folder.path(), "plan c.json", "timeout 60");
  const Outcome run = run_program_in(folder.path(), "run c.json --quiet", "timeout 60");
  const bool nothing = contains(plan.out, "nothing to run");
  return {nothing ? 1 : plan.code, run.code, plan.out + run.out,
          "plan: " + plan.error + "run: " + run.error};
}

// A config of members, the first form of each is sound; an empty one is left out.
struct Member {
  const char* key;
  std::vector<const char*> forms;
};

const std::vector<Member>& members() {
  static const std::vector<Member> all = {
      {"schema_version", {"1", "2", "\"1\"", "1.0", "null", ""}},
      {"plugins",
       {R"(["math", "nn", "data"])", "", "[]", R"("math")", "[3]", R"(["math", "math"])",
        R"(["nosuch"])", R"([{"name": "nosuch", "require": false}])",
        R"([{"name": "nosuch", "require": false, "load": "eager"}])",
        R"([{"path": "./gone.so", "require": false}])", R"(["./gone.so"])",
        R"([{"name": "math", "version": ">=9"}])", R"([{"name": "math", "version": "x"}])",
        R"([{"name": "math", "sha256": "00"}])",
        R"([{"name": "math", "sha256":
             "0000000000000000000000000000000000000000000000000000000000000000"}])",
        R"([{"name": "data", "load": "never"}])", R"([{"name": "nn", "load": "never"}])",
        R"([{"load": "lazy"}])"}},
      {"search_paths", {"", R"(["."])", R"(["nowhere"])", "[1]", R"("x")"}},
      {"autoload", {"", "true", "false", "1"}},
      {"ops",
       {"", R"({"disable": ["narrow"]})", R"({"disable": ["index_select"]})",
        R"({"disable": ["data.*"]})", R"({"disable": ["Linear"]})", R"({"disable": ["optim.*"]})",
        R"({"disable": ["nosuch"]})", R"({"prefer": {"add*": "math"}})",
        R"({"prefer": {"add*": "nosuch"}})", R"({"prefer": {"nosuch*": "math"}})",
        R"({"duplicates": "last"})", R"({"duplicates": "x"})", R"({"x": 1})"}},
      {"types", {"", "{}", R"({"Nosuch": {}})", R"({"a b": {}})"}},
      {"strict", {"", "true", "3"}},
      {"seed", {"3", "-1", "1.5", "9007199254740993"}},
      {"threads", {"1", "", "0", "1025", "\"1\""}},
      {"data",
       {R"({"path": "blobs.csv", "scale": 0.1})",
        "",
        R"({"path": "gone.csv"})",
        R"({"path": "blobs.csv", "header": true})",
        R"({"path": "blobs.csv", "targets": "y"})",
        R"({"path": "quoted.csv", "header": true, "targets": "y"})",
        R"({"path": "quoted.csv", "header": true, "targets": "z"})",
        R"({"path": "quoted.csv"})",
        R"({"path": "broken.csv"})",
        R"({"path": "empty.csv"})",
        R"({"path": "one.csv"})",
        R"({"path": "pipe", "type": "csv"})",
        R"({"path": "pipe", "type": "npy", "targets": "y.npy"})",
        R"({"path": ".", "type": "csv"})",
        R"({"path": "blobs.csv", "heder": true})",
        R"({"path": "blobs.txt"})",
        R"({"path": "blobs.csv", "type": "data.read_csv"})",

        R"({"path": "blobs.csv", "targets": -6})",

        R"({"path": "blobs.csv", "shape": [4]})",
        R"({"path": "blobs.csv", "shape": [0]})",
        R"({"path": "x.npy", "targets": "y.npy"})",
        R"({"path": "x.npy"})",
        R"({"path": "x.npy", "targets": -1})",
        R"({"path": "x.npy", "targets": "short.npy"})",
        R"({"path": "cut.npy", "targets": "y.npy"})",
        R"({"path": ".", "type": "images"})",
        R"({"path": "blobs.csv", "type": "npy", "targets": "y.npy"})"}},
      {"split", {R"({"test": 0.2})", "", R"({"test": 1})", R"({"test": 0, "shuffle": false})"}},
      {"model",
       {R"({"type": "Sequential", "layers": [{"type": "Linear", "in_features": 4,
            "out_features": 3}]})",
        "", R"("Nosuch")", R"({"type": "relu"})", R"({"layers": []})",
        R"({"type": "Sequential", "layers": [{"type": "Linear", "in_features": 4}]})",
        R"({"type": "Sequential", "layers": [{"type": "Linear", "in_features": "4",
            "out_features": 3}]})",
        R"({"type": "Sequential", "layers": [{"type": "Linear", "in_features": 4,
            "out_features": 3, "\u001b\u202e": 1}]})"}},
      {"loss",
       {R"("nn.functional.cross_entropy")", "", R"("nosuch")", R"("mean")",
        R"({"type": "nn.functional.cross_entropy", "label_smoothing": 0.1})",
        R"({"type": "nn.functional.cross_entropy", "label_smoothing": "a"})",
        R"({"type": "nn.functional.cross_entropy", "nosuch": 1})", R"({"type": "cross_entropy"})",
        R"({"op": "cross_entropy"})", R"({"type": "cross_entropy", "weight": [1, 2, 3]})",
        R"({"type": "cross_entropy", "weight": [1, 2]})",
        R"({"type": "cross_entropy", "weight": "balanced"})",
        R"({"type": "cross_entropy", "weight": "nosuch"})", R"("mse_loss")"}},
      {"metrics",
       {"", "[]", R"(["accuracy"])", R"(["accuracy", {"type": "top_k", "k": 2}])", R"(["nosuch"])",
        R"([{"type": "top_k", "k": "2"}])", R"("accuracy")"}},
      {"optimizer",
       {R"({"type": "sgd", "learning_rate": 0.1})", "", R"({"type": "sgd"})",
        R"({"type": "adam", "learning_rate": 0.1})",
        R"({"type": "adam", "learning_rate": 0.1, "momentum": 0.1})",
        R"({"type": "sgd", "learning_rate": 0})", R"({"type": "x", "learning_rate": 1})",
        R"({"type": "adamw", "learning_rate": 0.1, "betas": [0.8, 0.9]})", R"({"type": "add"})"}},
      {"training",
       {R"({"epochs": 1})", "", R"({"epochs": 0})", R"({"epochs": 1, "epochs": 1})",
        R"({"epochs": 1, "schedule": "cosine", "clip": {"type": "norm", "maximum": 1}})",
        R"({"epochs": 1, "schedule": ["linear", {"type": "warmup", "warmup_steps": 1}]})",
        R"({"epochs": 1, "schedule": ["nosuch"]})", R"({"epochs": 1, "clip": {"type": "norm"}})",
        R"({"epochs": 1, "drop_last": true, "sampler": "balanced"})",
        R"({"epochs": 1, "drop_last": true, "batch_size": 100000})",
        R"({"epochs": 1, "sampler": {"type": "shuffled", "seed": 7}})",
        R"({"epochs": 1, "sampler": "nosuch"})"}},
      {"output",
       {"", R"({"weights": "w.safetensors"})", R"({"weights": "nowhere/w.safetensors"})",
        R"({"weights": "."})", R"({"plot": "/proc/version/x.svg"})", R"({"x": 1})"}},
      {"\\u001b\x7f\xc2\x9b\xe2\x80\xae", {"", "1"}}};
  return all;
}

std::string npy(const std::string& shape, const std::string& type, size_t bytes) {
  std::string header = "{'descr':'" + type + "','fortran_order':False,'shape':" + shape + "}";
  header.resize(117, ' ');
  header += '\n';
  return std::string("\x93NUMPY\x01\0", 8) + static_cast<char>(header.size()) + '\0' + header +
         std::string(bytes, '\0');
}

void write_data(const Workspace& folder) {
  std::string rows;
  for (int i = 0; i < 10; ++i)
    rows += std::to_string(i % 3) + ",1,2,3," + std::to_string(i % 3) + "\n";
  folder.write("quoted.csv", "\"a\nb\",\"c, \"\"d\"\"\",e,f,y\n" + rows);
  folder.write("broken.csv", rows + "1,2,3,4,x\n");
  folder.write("empty.csv", "");
  folder.write("one.csv", "1\n2\n3\n");
  folder.write("x.npy", npy("(10,4)", "<f4", 160));
  folder.write("y.npy", npy("(10,)", "<i8", 80));
  folder.write("short.npy", npy("(9,)", "<i8", 72));
  folder.write("cut.npy", npy("(10,4)", "<f4", 159));
  REQUIRE(mkfifo(folder.path("pipe").c_str(), 0600) == 0);
}

std::string config_of(const std::vector<size_t>& forms) {
  std::string text;
  for (size_t i = 0; i < forms.size(); ++i) {
    const std::string form = members()[i].forms[forms[i]];
    if (!form.empty())
      text += (text.empty() ? "{\"" : ",\n\"") + std::string(members()[i].key) + "\": " + form;
  }
  return text + "}";
}

void check_agreement(const Workspace& folder, const std::vector<size_t>& forms) {
  const std::string config = config_of(forms);
  const Verdict both = verdict(folder, config);
  CAPTURE(config);
  CAPTURE(both.error);
  // A plan cannot know what only the code of a plugin knows.
  const bool late = contains(both.error, "and no config names it");
  CHECK((both.plan == both.run || (late && both.run == 1)));
  CHECK(both.plan <= 1);
  CHECK(is_printable(both.out + both.error));
}

}  // namespace

TEST_SUITE("config agreement") {
  TEST_CASE("plan and run agree on every form of every member") {
    const Workspace folder(true);
    write_data(folder);
    std::vector<size_t> forms(members().size());
    CHECK(verdict(folder, config_of(forms)).run == 0);
    for (size_t i = 0; i < forms.size(); ++i) {
      for (forms[i] = 1; forms[i] < members()[i].forms.size(); ++forms[i])
        check_agreement(folder, forms);
      forms[i] = 0;
    }
  }

  // A plan reads types from the schema alone; the values that a type allows are left to the run.
  TEST_CASE("plan and run agree on the types of all options of a loss and a module") {
    const Workspace folder(true);
    write_data(folder);
    const std::vector<const char*> values = {"3",   "-1",    "1.5",     "true", "null", "\"sum\"",
                                             "[1]", "[1.5]", "[\"a\"]", "[]",   "{}",   "\"f32\""};
    const auto agree = [&](const char* member, const std::string& form) {
      std::vector<size_t> forms(members().size());
      std::string config = "{";
      for (size_t i = 0; i < forms.size(); ++i) {
        const std::string text =
            members()[i].key == std::string(member) ? form : members()[i].forms[0];
        if (!text.empty() && i + 1 < forms.size())
          config += (i == 0 ? "\"" : ",\n\"") + std::string(members()[i].key) + "\": " + text;
      }
      CAPTURE(form);
      const Verdict both = verdict(folder, config + "}");
      CAPTURE(both.error);
      if (both.run == 0) CHECK(both.plan == 0);
      const bool type_fault = contains(both.error, "TypeError");
      if (both.plan == 0) CHECK_FALSE(type_fault);
      if (type_fault) CHECK(both.plan == 1);
    };
    for (const char* value : values) {
      for (const char* option : {"weight", "ignore_index", "label_smoothing", "reduction"})
        agree("loss", R"({"type": "nn.functional.cross_entropy", ")" + std::string(option) +
                          "\": " + value + "}");
      for (const char* attribute : {"bias", "in_features"})
        agree("model", std::string(R"({"type": "Linear", "out_features": 3, )") +
                           (attribute == std::string("bias") ? "\"in_features\": 4, " : "") + "\"" +
                           attribute + "\": " + value + "}");
    }
  }

  TEST_CASE("plan and run agree on random configs") {
    const Workspace folder(true);
    write_data(folder);
    std::mt19937 random(20240607);
    for (int round = 0; round < 40; ++round) {
      std::vector<size_t> forms(members().size());
      for (int change = 0; change < 3; ++change) {
        const size_t i = random() % forms.size();
        forms[i] = random() % members()[i].forms.size();
      }
      check_agreement(folder, forms);
    }
  }

  TEST_CASE("a header with a quoted line break is read as the run reads it") {
    const Workspace folder(true);
    write_data(folder);
    std::vector<size_t> forms(members().size());
    for (size_t i = 0; i < forms.size(); ++i) {
      if (members()[i].key == std::string("data")) forms[i] = 5;
    }
    folder.write("c.json", config_of(forms));
    const Outcome plan = run_program_in(folder.path(), "plan c.json");
    CHECK(contains(plan.out, "\n  samples    10 of shape [4], one target each\n"));
    const Outcome run = run_program_in(folder.path(), "run c.json --quiet --json");
    CHECK(run.code == 0);
    CHECK(run.json()["samples"]["train"].integer() == 8);
  }

  TEST_CASE("a config comes from standard input, too, and a missing optional plugin is listed") {
    const Workspace folder(true);
    folder.write("c.json",
                 R"({"schema_version": 1, "plugins": [{"name": "nosuch", "require": false}]})");
    const Outcome plan = run_program_in(folder.path(), "plan - < c.json");
    CHECK(plan.code == 0);
    CHECK(contains(plan.out, "nosuch  -        missing"));
    CHECK(contains(plan.out, "nothing to run: the config has no \"data\""));
    CHECK(contains(run_program_in(folder.path(), "plan - < blobs.csv").error, "standard input:1:"));
  }
}
