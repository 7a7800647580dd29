// Output of every command: its width, and where it cannot be written.
#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

#include <doctest/doctest.h>

#include "program.hpp"
#include "tools/support/text.hpp"

namespace {

// Whether lines of the output are for a reader, and end at the width; those of data and of documents for programs do not.
enum class For { readers, programs };

struct Call {
  std::string arguments;
  For whom = For::readers;
  int code = 0;
};

// Calls of each command in folders with tests/cli/data, in an order in which the files that they read are there.
const std::vector<Call>& calls() {
  static const std::string types = "--plugin-path " TENON_FIXTURES "/types ";
  static const std::vector<Call> all = {
      {"", For::readers, 1},
      {"--help"},
      {"--version"},
      {"help"},
      {"help types"},
      {"help --man run", For::programs},
      {"version"},
      {"version --json", For::programs},
      {"completion bash", For::programs},
      {"ops --all"},
      {"ops --json", For::programs},
      {"modules"},
      {types + "types"},
      {"plugins"},
      {"--plugin-path " TENON_FIXTURES " plugins", For::readers, 1},
      {"rewrites"},
      {"show optim"},
      {"show Linear"},
      {"show 'nn.*'"},
      {"show add"},
      {"show Batched"},
      {"signature conv2d"},
      {"overridable"},
      {"ignored"},
      {types + "--plugin-path " TENON_FIXTURES "/ties ambiguities", For::readers, 1},
      {types + "coverage ScalarTensor"},
      {"coverage transform:vmap"},
      {"coverage onnx"},
      {"why conv2d Tensor Tensor"},
      {types + "why add ScalarTensor Tensor"},
      {"call add [1,2] 2 --why"},
      {"call max [3,1] dim=0 --time"},
      {"call square '[1, -3]' --grad"},
      {"catalogue --no-samples --output site"},
      {"plan blobs.json"},
      {"plan blobs.json --providers"},
      {"plan blobs.json --prepared"},
      {"plan blobs.json --memory"},
      {"plan blobs.json --no-shapes"},
      {"graph blobs.json", For::programs},
      {"run blobs.json --trace first.trace --profile"},
      {"run blobs.json --trace second.trace --epochs 1 --report report.html"},
      {"run blobs.json --evaluate blobs.safetensors --profile"},
      {"run blobs.json --per-sample-norms --epochs 1"},
      {"diff first.trace first.trace"},
      {"diff first.trace second.trace", For::readers, 1},
      {"predict blobs.json blobs.csv -o outputs.csv --profile"},
      {"bench blobs.json --input input=4x4 --calls 3"},
      {"tune blobs.json --steps 1 --rounds 1"},
      {"lock blobs.json -o x.lock"},
      {"export blobs.json blobs.onnx"},
      {"convert blobs.safetensors blobs.npz"},
      {"schema", For::programs},
      {"docs", For::programs},
      {"new hello"},
      {"new hello_c --c"},
      {"new trained --config"},
      {"check optim"},
      {"--plugin-path " TENON_FIXTURES " check plain", For::readers, 1},
      {"compat optim metric", For::readers, 1},
      {"wrappers optim", For::programs},
      {"replay kept/failure-*", For::readers, 1},
  };
  return all;
}

// The word of a call that is its command.
std::string command_of(const Call& call, const std::set<std::string>& commands) {
  std::istringstream words(call.arguments);
  for (std::string word; words >> word;) {
    if (commands.count(word) != 0) return word;
  }
  return "";
}

// A folder in which each call has what it reads.
struct Prepared : Workspace {
  Prepared() : Workspace(true) {
    run_program_in(path(), "call mm f32[2,3] f32[2,3]", "TENON_KEEP_FAILURES=kept");
  }
};

int64_t longest(const std::string& text) {
  std::istringstream stream(text);
  int64_t most = 0;
  for (std::string line; std::getline(stream, line);)
    most = std::max(most, cli::display_width(line));
  return most;
}

}  // namespace

TEST_SUITE("output") {
  TEST_CASE("each command is called here, in a way that has output for readers if it has any") {
    std::set<std::string> commands, called;
    std::istringstream names(run_program("help --names --man").out);
    for (std::string name; std::getline(names, name);) commands.insert(name);
    CHECK(commands.size() > 30);
    for (const Call& call : calls()) called.insert(command_of(call, commands));
    for (const std::string& command : commands) CHECK_MESSAGE(called.count(command) == 1, command);
  }

  TEST_CASE("the output of each command fits 80 columns, but for data and documents") {
    const Prepared folder;
    for (const Call& call : calls()) {
      CAPTURE(call.arguments);
      const Outcome outcome = run_program_in(folder.path(), call.arguments, "COLUMNS=80");
      CAPTURE(outcome.error);
      CAPTURE(outcome.out);
      CHECK(outcome.code == call.code);
      CHECK_FALSE(outcome.out.empty());
      if (call.whom == For::readers) CHECK(longest(outcome.out) <= 80);
    }
  }

  TEST_CASE("each command says that its output finds no room, and ends with 1") {
    if (!std::filesystem::exists("/dev/full")) return;
    const Prepared folder;
    for (const Call& call : calls()) {
      CAPTURE(call.arguments);
      const Outcome outcome = run_program_in(folder.path(), call.arguments + " >/dev/full");
      CAPTURE(outcome.error);
      CHECK(outcome.code == 1);
      CHECK(contains(outcome.error, "tenon: IOError: standard output could not be written\n"));
    }
  }

  TEST_CASE("each command ends silently where the reader of its output has gone") {
    const Prepared folder;
    for (const Call& call : calls()) {
      CAPTURE(call.arguments);
      int ends[2];
      REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
      const tenon::trust::Descriptor writing(ends[1]);
      close(ends[0]);
      tenon::trust::ChildCommand command;
      command.program = "/bin/sh";
      command.arguments = {"sh", "-c", "exec '" TENON_PROGRAM "' " + call.arguments + " 2>errors"};
      command.folder = folder.path();
      command.environment = {"TENON_PLUGIN_PATH", "XDG_DATA_HOME", "XDG_STATE_HOME",
                             "HOME=" + folder.path().string()};
      command.descriptors = {{STDOUT_FILENO, writing.number()}};
      tenon::trust::ChildProcess child(command);
      child.wait();
      const std::string errors = folder.read("errors");
      CAPTURE(errors);
      CHECK(tenon::trust::end_text(child.status().value()) == "SIGPIPE (Broken pipe)");
      CHECK_FALSE(contains(errors, "tenon: "));
    }
  }
}
