// tenon why, and the trace of a program: golden texts.
#include <algorithm>

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "program.hpp"

namespace {

Outcome why(const std::string& call, const std::string& environment = "") {
  return run_program("--plugin-path " TENON_FIXTURES "/types why " + call, environment);
}
int64_t lines_of(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

}  // namespace

TEST_SUITE("why") {
  TEST_CASE("F-300 an override that answers is named with its plugin, golden text") {
    const Outcome outcome = why("add ScalarTensor Tensor");
    CHECK(outcome.code == 0);
    CHECK(outcome.out ==
          "add(input, other, *, alpha=1, out=None)\n"
          "  arguments  input: ScalarTensor, other: Tensor\n"
          "  defaults   alpha=1, out=None\n"
          "  types      ScalarTensor, Tensor\n"
          "  modes      none\n"
          "  asked      ScalarTensor\n"
          "  steps      1. ScalarTensor: override add[ScalarTensor], plugin types 1.0.0\n"
          "  runs       override add[ScalarTensor], plugin types 1.0.0\n"
          "  gradient   through the ops that it calls\n");
  }

  TEST_CASE("an operand that is an empty text is one") {
    const Outcome empty = why("data.read_csv ''");
    CHECK(empty.code == 0);
    CHECK(contains(empty.out, "  arguments  path: ''\n"));
  }

  TEST_CASE("F-300 every candidate is printed in the order of asking, with why it was skipped") {
    CHECK(why("div S SD").out ==
          "div(input, other, *, out=None)\n"
          "  arguments  input: S, other: SD\n"
          "  defaults   out=None\n"
          "  types      S, SD\n"
          "  modes      none\n"
          "  asked      S, SD\n"
          "  steps      1. S: passed over: its default handler declines: SD is not in its line of "
          "descent\n"
          "             2. S: override div[S], plugin types 1.0.0\n"
          "             3. S: handler of S, plugin types 1.0.0\n"
          "             4. SD: override div[SD], plugin types 1.0.0\n"
          "  runs       override div[S], plugin types 1.0.0\n"
          "  gradient   through the ops that it calls\n");
  }

  TEST_CASE("F-300 for plain operands the kernel, its dtypes and what is recorded") {
    CHECK(why("add Tensor:i64 Tensor:f64 alpha=Scalar", "TENON_ISA=baseline").out ==
          "add(input, other, *, alpha=1, out=None)\n"
          "  arguments  input: Tensor:i64, other: Tensor:f64, alpha: Scalar\n"
          "  defaults   out=None\n"
          "  types      Tensor\n"
          "  modes      none\n"
          "  asked      none: all operands are plain\n"
          "  runs       kernel, plugin math 1.0.0\n"
          "  kernel     computes in f64, gives f64, on cpu, baseline loops\n"
          "  gradient   records AddBackward0, where an operand requires grad\n");
    CHECK(contains(why("mul Tensor Scalar").out, "runs       kernel, plugin math 1.0.0\n"));
  }

  TEST_CASE("F-300 operands by name, in lists and in out; what is left out is assumed") {
    CHECK(contains(why("cat S2,Tensor dim=1").out, "  arguments  tensors: S2,Tensor, dim: 1\n"));
    CHECK(contains(why("select S2").out, "dim: int (any), index: int (any)\n"));
    CHECK(contains(why("add Tensor Tensor out=D").out, "call it as override add[D] takes it"));
    CHECK(contains(why("add Tensor other=ScalarTensor").out, "asked      ScalarTensor\n"));
  }

  TEST_CASE("F-300 as JSON") {
    const tenon::Json answered = why("add ScalarTensor Tensor --json").json();
    CHECK(answered["answer"].dump() ==
          R"({"what":"override add[ScalarTensor]","provider":"types","version":"1.0.0"})");
    CHECK(answered["arguments"][2].dump() ==
          R"({"name":"alpha","position":3,"given":"default","value":"1"})");
    CHECK(answered["types"].dump() == R"(["ScalarTensor","Tensor"])");
    const Outcome failed = why("mul ScalarTensor ScalarTensor --json");
    CHECK(failed.code == 1);
    CHECK(failed.json()["kind"].text() == "TypeError");
    CHECK(failed.json()["steps"][0]["reason"].text() == "no override for mul and no handler");
  }

  TEST_CASE("F-302 a call without an implementation is explained in six lines, with exit code 1") {
    const Outcome outcome = why("add S2 S3");
    CHECK(outcome.code == 1);
    CHECK(
        outcome.out ==
        "add(input: S2, other: S3)\n"
        "  fails      TypeError: no implementation found for 'tenon.add' on types that implement "
        "tenon_function: [S2, S3]\n"
        "  passed     S2: its default handler declines: S3 is not in its line of descent; S3: its "
        "default handler declines: S2 is not in its line of descent\n"
        "  nearest    add[D] from 'types', add[ScalarTensor] from 'types'\n"
        "  try        register an override add[S2, S3], or give the type a tenon_function\n");
    CHECK(why("add Tensor").out ==
          "add(Tensor)\n"
          "  fails      TypeError: add() missing 1 required positional argument: 'other'\n"
          "  try        call it as add(input, other, *, alpha=1, out=None)\n");
    for (const char* call : {"mul ScalarTensor ScalarTensor", "mean Bare", "add Never Scalar",
                             "tx.tag ScalarTensor", "mul S Scalar alpha=2"}) {
      CAPTURE(call);
      const Outcome refused = why(call);
      CHECK(refused.code == 1);
      CHECK(lines_of(refused.out) <= 6);
    }
  }

  TEST_CASE("F-302 an error of an override's own signature is reported as the call's error") {
    const Outcome refused = why("add ScalarTensor ScalarTensor alpha=2");
    CHECK(refused.code == 1);
    CHECK(contains(refused.out, "unexpected keyword argument 'alpha'"));
    CHECK(
        contains(refused.out, "  try        call it as override add[ScalarTensor] takes it, add("));
  }

  TEST_CASE("F-302 an override that the config switches off is not called outranked") {
    const Workspace folder;
    folder.write("off.json", R"({"schema_version": 1, "plugins": ["types"],
                                 "ops": {"disable": ["mean[ScalarTensor]"]}})");
    const Outcome off = why("mean ScalarTensor --config " + folder.path("off.json").string());
    CHECK(off.code == 1);
    CHECK(contains(off.out, "types declares mean[ScalarTensor] (switched off by `ops.disable`"));
    CHECK(contains(off.out, "  try        switch override mean[ScalarTensor] on again\n"));
  }

  TEST_CASE("F-302 the plugin that could serve is named from its facts, with why it does not") {
    const Workspace folder;
    folder.write(
        "never.json",
        R"({"schema_version": 1, "plugins": [{"name": "more_overrides", "load": "never"}]})");
    const std::string config = folder.path("never.json").string();
    const std::string places = "--plugin-path " TENON_FIXTURES "/more_overrides mul ScalarTensor 2";
    CHECK(
        contains(why(places).out, "runs       override mul[ScalarTensor], plugin more_overrides"));
    const Outcome disabled = why(places + " --config " + config);
    CHECK(disabled.code == 1);
    CHECK(contains(disabled.out,
                   "  plugins    more_overrides declares mul[ScalarTensor] (excluded: \"load\" is "
                   "\"never\" in config '" +
                       config +
                       "')\n"
                       "  try        enable plugin 'more_overrides' in the config\n"));
    CHECK(lines_of(disabled.out) <= 6);
  }

  TEST_CASE("F-300 a provider that another one is preferred to is named with the reason") {
    const Workspace folder;
    folder.write("prefer.json", R"({"schema_version": 1, "plugins": ["plain", "duplicate"],
                                    "ops": {"prefer": {"plain.add_one": "plain"}}})");
    const Outcome outcome =
        run_program("--plugin-path " TENON_FIXTURES " why plain.add_one Tensor --config " +
                    folder.path("prefer.json").string());
    CHECK(outcome.code == 0);
    CHECK(contains(outcome.out,
                   "  not used   op plain.add_one, plugin duplicate: outranked: 'plain' ("));
    CHECK(contains(outcome.out,
                   "  gradient   fails for floating results: it has no backward, where an operand "
                   "requires grad\n"));
  }

  TEST_CASE("F-302 unknown ops and types are one line with a suggestion") {
    const Outcome unknown = why("addd Tensor Tensor");
    CHECK(unknown.code == 1);
    CHECK(unknown.error.rfind("tenon: ValueError: no op is named 'addd' (did you mean 'add'?). "
                              "Plugins were looked for in: ",
                              0) == 0);
    CHECK(lines_of(unknown.error) == 1);
    CHECK(contains(why("add Tensr Tensor").error, "'Tensr'"));
    CHECK(contains(why("add Tensor:f31 Tensor").error, "'Tensor:f31'"));
    CHECK(why("add").code == 2);
    const Outcome beside = run_program("--plugin-path " TENON_FIXTURES " why addd Tensor Tensor");
    CHECK(contains(beside.error, "; refused, see `tenon plugins`: "));
  }

  TEST_CASE(
      "F-301 a program is traced by its environment, as text and as JSON lines, into a file") {
    const Workspace folder(true);
    const std::string run = "run blobs.json --epochs 1 --quiet";
    const Outcome text = run_program_in(folder.path(), run, "TENON_TRACE=text");
    CHECK(text.code == 0);
    CHECK(contains(text.error, "call nn.functional.linear(Tensor f32[16, 4], "));
    CHECK(contains(text.error, "\n  kernel nn.functional.linear (plugin nn)\n"));
    const std::string file = folder.path("trace.jsonl").string();
    const Outcome lines =
        run_program_in(folder.path(), run, "TENON_TRACE=json TENON_TRACE_FILE='" + file + "'");
    CHECK(lines.error.empty());
    const std::string trace = folder.read("trace.jsonl");
    int64_t events = 0;
    for (size_t start = 0; start < trace.size() && events < 200; ++events) {
      const size_t end = trace.find('\n', start);
      CHECK(!tenon::Json::parse(trace.substr(start, end - start))["event"].text().empty());
      start = end + 1;
    }
    CHECK(events == 200);
    REQUIRE(mkfifo(folder.path("pipe").c_str(), 0600) == 0);  // without a reader
    const Outcome piped =
        run_program_in(folder.path(), run, "TENON_TRACE=text TENON_TRACE_FILE=pipe timeout 60");
    CHECK(piped.code == 0);
    CHECK(contains(piped.error, "cannot write 'pipe'; the trace goes to standard error"));
    const Outcome wrong = run_program_in(folder.path(), run, "TENON_TRACE=xml");
    CHECK(contains(wrong.error, "TENON_TRACE is text or json, not 'xml'"));
    CHECK(run_program_in(folder.path(), run).error.empty());
  }

  TEST_CASE("an operand is one word, whatever blanks and quotes it has") {
    for (const char* operand :
         {"\"reduction='a b'\"", "\"reduction=a b\"", "\"reduction='a\\\\ b'\""}) {
      CAPTURE(operand);
      const tenon::Json why = run_program("why nn.functional.mse_loss Tensor Tensor " +
                                          std::string(operand) + " --json")
                                  .json();
      CHECK(why["arguments"].size() == 3);
      CHECK(why["arguments"][2]["name"].text() == "reduction");
      CHECK(contains(why["arguments"][2]["value"].text(), " b"));
    }
  }

  TEST_CASE("an op may be named by the last part, and a misspelt type suggests Tensor") {
    CHECK(run_program("why layer_norm Tensor").out ==
          run_program("why nn.functional.layer_norm Tensor").out);
    CHECK(contains(run_program("why linear Tensor Tensor").error, "op 'linear' is ambiguous"));
    CHECK(contains(run_program("why add Tensr Tensor").error,
                   "no tensor type is named 'Tensr' (did you mean 'Tensor'?)"));
    CHECK(contains(run_program("why add Tensor Scalr").error, "(did you mean 'Scalar'?)"));
  }
}
