// tenon check: every planted fault is found and named; what is right passes; the checker survives.
#include <cstdlib>
#include <map>
#include <set>

#include <doctest/doctest.h>

#include <tenon/listing/listing.hpp>
#include <tenon/runtime.hpp>

#include "program.hpp"
#include "tests/support/emulation.hpp"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TENON_TEST_SANITIZED true
#else
#define TENON_TEST_SANITIZED false
#endif

namespace {

using tenon::Json;

const std::string kBroken = TENON_FIXTURES "/broken/";

// The findings of each item, as "kind in stage", in the order of the report.
std::map<std::string, std::string> findings(const Json& report) {
  std::map<std::string, std::string> all;
  const Json items = report["items"];
  for (int64_t i = 0; i < items.size(); ++i) {
    std::string& text = all[items[i]["name"].text()];
    if (items[i]["state"].text() != "fault") text = items[i]["state"].text();
    const Json list = items[i]["findings"];
    for (int64_t f = 0; f < list.size(); ++f) {
      text += (f == 0 ? "" : ", ") + list[f]["kind"].text() + " in " + list[f]["stage"].text();
      CHECK_FALSE(list[f]["message"].text().empty());
      CHECK_FALSE(list[f]["remedy"].text().empty());
    }
  }
  return all;
}

Json item(const Json& report, const std::string& name) {
  for (int64_t i = 0; i < report["items"].size(); ++i) {
    if (report["items"][i]["name"].text() == name) return report["items"][i];
  }
  return {};
}
std::string message(const Json& report, const std::string& name) {
  return item(report, name)["findings"][0]["message"].text();
}

}  // namespace

TEST_SUITE("check") {
  TEST_CASE("a check that a signal ends leaves no folder behind") {
    for (const char* mode : {"", " --in-process"}) {
      for (const char* signal : {"INT", "TERM", "HUP"}) {
        CAPTURE(mode);
        CAPTURE(signal);
        const Workspace folder;
        std::filesystem::create_directory(folder.path("tmp"));
        // A background job of sh ignores SIGINT, which the program would respect.
        folder.write("end.sh", "env --default-signal TMPDIR=\"$PWD/tmp\" '" TENON_PROGRAM
                               "' check nn" +
                                   std::string(mode) +
                                   " >out 2>&1 &\n"
                                   "program=$!\n"
                                   "for i in $(seq 1000); do\n"
                                   "  [ -n \"$(ls tmp)\" ] && break\n"
                                   "  sleep 0.02\n"
                                   "done\n"
                                   "[ -n \"$(ls tmp)\" ] || exit 1\n"
                                   "kill -" +
                                   signal +
                                   " $program\n"
                                   "wait $program\n"
                                   "code=$?\n"
                                   "[ $code -gt 128 ] || exit 2\n"
                                   "[ \"$(kill -l $code)\" = " +
                                   signal +
                                   " ] || exit 3\n"
                                   "[ -z \"$(ls tmp)\" ] || exit 4\n");
        const std::string command = "cd '" + folder.path().string() + "' && sh end.sh";
        CHECK(std::system(command.c_str()) == 0);
        CHECK_FALSE(contains(folder.read("out"), "FAULT"));
      }
    }
  }

  TEST_CASE("a check without modules needs no folder") {
    CHECK(run_program("check math --op abs", "TMPDIR=/nowhere").code == 0);
    CHECK(contains(run_program("check nn --op Linear", "TMPDIR=/nowhere").error,
                   "cannot find a folder for temporary files"));
  }

  TEST_CASE("calls that do other than declared are found, each by its name") {
    const Outcome outcome = run_program("check " + kBroken + "broken_calls.so --json");
    CHECK(outcome.code == 1);
    const Json report = outcome.json();
    CHECK_FALSE(report["ok"].as_bool());
    std::map<std::string, std::string> expected = {
        {"broken_calls", "ok"},
        {"broken.mutates", "undeclared-mutation in call"},
        {"broken.mutates_by_ops", "undeclared-mutation in call"},
        {"broken.forgets_dirty", "undeclared-mutation in call"},
        {"broken.marks_dirty", "ok"},
        {"broken.hands_on", "undeclared-alias in call"},
        {"broken.views", "undeclared-alias in call"},
        {"broken.twins", "undeclared-alias in call"},
        {"broken.changes_nothing_", "missing-mutation in call"},
        {"broken.copies", "missing-alias in call"},
        {"broken.gives_none", "result in call"},
        {"broken.remembers", "nondeterminism in call"},
        {"broken.ignores_strides", "layout in layouts and dtypes, dtype in layouts and dtypes"},
        {"broken.other_in_single", "precision in layouts and dtypes"},
        {"broken.ignores_out", "out in layouts and dtypes"},
        {"broken.refuses_zeros", "shape in shapes"},
        {"broken.other_shape", "shape in shapes"},
        {"broken.mute", "unexplained-error in odd inputs"},
        {"broken.misspelt_samples", "samples in call"},
        {"broken.careless", "ok"},
        {"broken.refused_samples", "samples in call"},
        {"broken.particular", "skipped"},
        {"broken.counts_calls", "nondeterminism in call"},
        {"broken.lists_calls", "nondeterminism in call"},
        {"broken.names_calls", "nondeterminism in call"},
        {"broken.sees_strides", "layout in layouts and dtypes"},
        {"broken.lists_strides", "layout in layouts and dtypes"},
        {"broken.sees_single", "precision in layouts and dtypes"},
        {"broken.counts_elements", "ok"}};
    CHECK(findings(report) == expected);
    CHECK(message(report, "broken.misspelt_samples") ==
          "samples/0/inptu: unknown parameter 'inptu' (did you mean 'input'?)");
    CHECK(message(report, "broken.refuses_zeros") ==
          "where shapes alone are computed, from zeros, the op refuses them: refuses_zeros(): "
          "the first element is 0");
    CHECK(message(report, "broken.other_shape") ==
          "where shapes alone are computed, result 0 is [2] f64, but the call gives [2, 3] f64");
    CHECK(contains(item(report, "broken.particular")["skipped"].text(), "'str mode'"));
    CHECK(contains(message(report, "broken.names_calls"),
                   "called twice with the same arguments, the result is 'call "));
    CHECK(message(report, "broken.sees_strides") ==
          "once contiguous and once with other strides, the result is True in one and False in the "
          "other");
  }

  TEST_CASE("GC-17 an undeclared mutation is reported, naming the argument") {
    const Outcome outcome =
        run_program("check " + kBroken + "broken_calls.so --op broken.mutates --json");
    CHECK(
        contains(message(outcome.json(), "broken.mutates"),
                 "changes its argument 'scratch', which the schema declares as 'Tensor scratch'"));
  }

  TEST_CASE("GC-18 an undeclared alias is reported, naming the argument; declared ones pass") {
    const Json report =
        run_program("check " + kBroken + "broken_calls.so --op views --json").json();
    CHECK(message(report, "broken.views") ==
          "the result is a view of the argument 'input', but the schema declares a new tensor");
    CHECK(run_program("check math --op transpose").code == 0);
  }

  TEST_CASE("GC-20 a result that is not what the schema declares is reported") {
    const Json report =
        run_program("check " + kBroken + "broken_calls.so --op gives_none --json").json();
    CHECK(message(report, "broken.gives_none") ==
          "result 0 is none, but the schema declares Tensor");
  }

  TEST_CASE("wrong gradients are found, each by its name") {
    const Outcome outcome = run_program("check " + kBroken + "broken_gradients.so --json");
    CHECK(outcome.code == 1);
    std::map<std::string, std::string> expected = {
        {"broken_gradients", "ok"},
        {"broken.forgets_formula", "missing-gradient in gradient"},
        {"broken.steps", "ok"},
        {"broken.not_constant", "cut-graph in gradient"},
        {"broken.opaque_composite", "cut-graph in gradient"},
        {"broken.loses_factor", "wrong-gradient in gradient"},
        {"broken.wrong_sign", "wrong-gradient in gradient"},
        {"broken.adds_to_gradient", "wrong-gradient in gradient"},
        {"broken.wavering_gradient", "wrong-gradient in gradient"},
        {"broken.wrong_shape", "failing-gradient in gradient"},
        {"broken.undeclared", "ok"},
        {"broken.declared", "ok"},
        {"broken.wrong_count", "failing-gradient in gradient"},
        {"broken.throws", "failing-gradient in gradient"},
        {"broken.scales_gradient", "changed-gradient in gradient"},
        {"broken.scales_saved", "changed-input in gradient"},
        {"broken.wrong_tangent", "wrong-jvp in forward mode"},
        {"broken.throws_tangent", "failing-jvp in forward mode"},
        {"broken.copies_tangent", "failing-jvp in forward mode"},
        {"broken.stashes_input", "failing-second-order in second order"},
        {"broken.detaches_saved", "wrong-second-order in second order"},
        {"broken.once_only", "ok"},
        {"broken.derives_by_hand", "failing-second-order in second order"},
        {"broken.forgets_saves", "unsaved-read in gradient"},
        {"LosesState", "state in state"},
        {"UnusedParameter", "unreached-parameter in gradient"}};
    CHECK(findings(outcome.json()) == expected);
    const Json report = outcome.json();
    CHECK(contains(message(report, "broken.loses_factor"),
                   "likely cause: the analytical gradient is 0.5 times the numerical one"));
    CHECK(contains(message(report, "broken.wrong_count"),
                   "returned an incorrect number of gradients (expected 2, got 1)"));
  }

  TEST_CASE("check asks a Function to declare the order of its gradient") {
    const auto notes = [](const std::string& name) {
      return run_program("check " + kBroken + "broken_gradients.so --op broken." + name).out;
    };
    CHECK(contains(notes("undeclared"), "it may: declare twice_differentiable"));
    CHECK_FALSE(contains(notes("declared"), "twice_differentiable"));
    CHECK(contains(notes("stashes_input"), "declare once_differentiable, or fix it"));
  }

  TEST_CASE("GC-22 right registrations pass; a composite that computes by hand does not") {
    CHECK(run_program("check math --op mul").code == 0);
    CHECK(run_program("check math --op masked_fill").code == 0);
    CHECK(run_program("check " + kBroken + "broken_gradients.so --op opaque_composite").code == 1);
  }

  TEST_CASE("crashes, hangs, exits and greed are findings, and the next op is checked") {
    const Outcome outcome =
        run_program("check " + kBroken + "broken_process.so --timeout 3 --memory 1024 --json");
    CHECK(outcome.code == 1);
    const Json report = outcome.json();
    // Sanitizers turn a signal into their own exit, and need more memory than any limit.
    const bool plain = !TENON_TEST_SANITIZED;
    std::map<std::string, std::string> expected = {
        {"broken_process", "ok"},
        {"broken.crash", plain ? "crash in call" : "exit in call"},
        {"broken.crash_in_backward", "crash in gradient"},
        {"broken.leave", "exit in call"},
        {"broken.hang", "timeout in call"},
        {"broken.greed", "memory in call"},
        {"broken.babble", "protocol in call"},
        {"broken.fine", "ok"}};
    std::map<std::string, std::string> found = findings(report);
    // Nor does qemu keep the limit of a program's memory.
    if (!plain || tenon_test::is_emulated()) {
      expected.erase("broken.greed");
      found.erase("broken.greed");
    }
    CHECK(found == expected);
    if (plain) CHECK(contains(message(report, "broken.crash"), "SIGSEGV"));
    CHECK(item(report, "broken.crash")["findings"][0]["sample"]["input"]["shape"].dump() ==
          "[2,3]");
    CHECK(contains(message(report, "broken.crash_in_backward"),
                   "SIGABRT (Aborted)\nit had printed:\nassertion failed: rows > 0"));
    // A sanitizer prints something at every exit.
    CHECK(contains(message(report, "broken.leave"), "the process exited with code 0"));
    CHECK(message(report, "broken.hang") == "it did not end within 3 s");
  }

  TEST_CASE("a plugin that does not open is a finding of the plugin") {
    for (const char* name : {"init_throws", "entry_fails", "missing_symbol", "undeclared"}) {
      CAPTURE(name);
      const Outcome outcome =
          run_program(std::string("check " TENON_FIXTURES "/") + name + ".so --json");
      CHECK(outcome.code == 1);
      CHECK(outcome.json()["items"].size() == 1);
      CHECK(findings(outcome.json()).begin()->second == "open in open");
    }
  }

  TEST_CASE("what cannot be read or named is an error with a suggestion") {
    CHECK(contains(run_program("check mat").error,
                   "no plugin is named 'mat' (did you mean 'math'?)"));
    CHECK(contains(run_program("check math --op mull").error,
                   "plugin 'math' declares no op, module, type, override, rewrite or batch rule "
                   "'mull' (did you "
                   "mean 'mul'?)"));
    CHECK(run_program("check /nowhere/x.so").code == 1);
    CHECK(run_program("check math --timeout 0").code == 2);
    CHECK(run_program("check math --memory lots").code == 2);
    const Outcome option = run_program("check math --check '{\"atoll\": 1}'");
    CHECK(option.code == 2);
    CHECK(contains(option.error,
                   "unknown option 'atoll' (did you mean 'atol'?); the options are eps, "
                   "atol, rtol"));
    CHECK(contains(run_program("check math --check '{\"atol\": true}'").error,
                   "check/atol: found true, expected a number"));
    CHECK(contains(run_program("check math --check '[1]'").error,
                   "check: found [1], expected an object of options"));
    CHECK(run_program("check math --check '[1'").code == 2);
  }

  TEST_CASE("options of the gradient checks reach every sample") {
    const std::string call = "check " + kBroken + "broken_gradients.so --op ";
    CHECK(run_program(call + "loses_factor --check '{\"rtol\": 0.6}'").code == 0);
    CHECK(run_program(call + "wavering_gradient --check '{\"nondet_tol\": 1e-5, \"atol\": 1}'")
              .code == 0);
    CHECK(run_program(call + "throws_tangent --check '{\"check_forward_ad\": false}'").code == 0);
    CHECK(run_program(call + "throws --check '{\"check_backward_ad\": false}'").code == 0);
    CHECK(run_program(call + "wrong_sign --check '{\"fast_mode\": true}'").code == 1);
    CHECK(contains(run_program(call + "steps --check '{\"check_batched_grad\": true}'").out,
                   "ops have no batching rules"));
  }

  TEST_CASE("the report is a line for each item, findings with what to do, and a summary") {
    const Outcome outcome = run_program("check " + kBroken + "broken_gradients.so --op steps");
    CHECK(outcome.code == 0);
    CHECK(outcome.error.empty());
    CHECK(
        outcome.out.rfind("ok       broken.steps  3 samples: call, layouts and dtypes, shapes, odd "
                          "inputs, memory, sizes, ranks, operands, numbers, gradient, batching, "
                          "threads, leaks\nbroken_gradients 1.0.0: 1 item ok, no faults (",
                          0) == 0);
    const Outcome fault = run_program("check " + kBroken + "broken_gradients.so --op throws");
    CHECK(contains(fault.out,
                   "FAULT    broken.throws\n  failing-gradient in gradient\n    no gradient today\n"
                   "    sample: {\"input\":{\"shape\":[2,3]}}\n    expected: backward returns "
                   "gradients\n    to do: fix the backward"));
    CHECK(contains(fault.out, "0 items ok, 1 faulty with 1 finding ("));
  }

  TEST_CASE("the same report comes out of every run, in a child process or here") {
    const auto items = [](const std::string& options) {
      return run_program("check " + kBroken + "broken_gradients.so --json " + options)
          .json()["items"]
          .dump();
    };
    CHECK(items("") == items(""));
    CHECK(items("") == items("--in-process"));
    CHECK(items("") != items("--seed 7"));
  }

  TEST_CASE("declarations are read from a file without opening it, samples and all") {
    const Json declared = tenon::listing::declarations(kBroken + "broken_calls.so");
    CHECK(declared["id"].text() == "broken_calls");
    Json found;
    for (int64_t i = 0; i < declared["ops"].size(); ++i) {
      if (declared["ops"][i]["name"].text() == "broken.changes_nothing_")
        found = declared["ops"][i];
      if (declared["ops"][i]["name"].text() == "broken.refused_samples")
        CHECK(declared["ops"][i]["samples"].text() ==
              R"([{"input": {"shape": [2, 3]}, "rows": 5}])");
    }
    CHECK(found["zero_gradient"].as_bool());
    CHECK(
        found["parameters"][0].dump() ==
        R"json({"name":"input","type":"Tensor(a!)","kind":"Tensor","alias":"a","mutates":true,"keyword_only":false})json");
    CHECK(tenon::listing::plugins().dump().find("broken_calls") == std::string::npos);
    CHECK_THROWS_AS(tenon::listing::declarations("/nowhere/x.so"), tenon::PluginError);
  }

  TEST_CASE("a read of what was not saved is to be declared, not to be fixed in the backward") {
    const Outcome outcome =
        run_program("check " + kBroken + "broken_gradients.so --op forgets_saves");
    CHECK(contains(outcome.out, "to do: name the tensor in `saves`"));
    CHECK_FALSE(contains(outcome.out, "fix the backward"));
  }

  TEST_CASE("results of types that do not derive from Tensor are checked, by their conversion") {
    const Outcome outcome =
        run_program("check " TENON_FIXTURES "/checked_types/checked_types.so --json");
    const Json report = outcome.json();
    const std::map<std::string, std::string> expected = {
        {"checked_types", "ok"},
        {"checked.sealed", "ok"},
        {"checked.spread", "ok"},
        {"checked.forgets_factor", "wrong-gradient in gradient"},
        {"checked.remembers", "nondeterminism in call"},
        {"checked.changes_type", "nondeterminism in call"},
        {"CheckedSealed", "ok"},
        {"CheckedSpread", "ok"}};
    CHECK(findings(report) == expected);
    CHECK(contains(item(report, "checked.spread")["stages"].dump(), "second order"));
    CHECK(item(report, "checked.sealed")["notes"][0].text() ==
          "its elements are not compared: a CheckedSealed has no data and no conversion to Tensor");
    CHECK(contains(message(report, "checked.changes_type"),
                   "is of type CheckedSpread in one and CheckedSealed in the other"));
  }

  TEST_CASE("a finding of a type or an override says how its objects were made") {
    const auto check = [](const std::string& name) {
      return run_program("check " TENON_FIXTURES "/planted/planted_types.so --op '" + name +
                         "' --json")
          .json();
    };
    const Json type = check("PlantedOtherDtype");
    CHECK(item(type, "PlantedOtherDtype")["kind"].text() == "type");
    CHECK(message(type, "PlantedOtherDtype") ==
          "the object is [2, 3] f32, its conversion [2, 3] f64");
    CHECK(item(type, "PlantedOtherDtype")["findings"][0]["sample"].dump() ==
          R"({"object":{"op":"planted.make","type":"PlantedOtherDtype","data":{"shape":[2,3]}}})");
    const Json override_of = check("sub[PlantedDiagonal]");
    CHECK(contains(message(override_of, "sub[PlantedDiagonal]"),
                   "on (Tensor, PlantedDiagonal), once by the override and once by the op on the "
                   "converted operands, the result has "));
    CHECK(contains(item(override_of, "sub[PlantedDiagonal]")["findings"][0]["sample"].dump(),
                   R"({"op":"planted.diagonal","n":2,"value":0.5})"));
    CHECK(item(check("PlantedUnmade"), "PlantedUnmade")["skipped"].text() ==
          "no op of plugin 'planted_types' returned one; give one that does `samples`");
  }

  TEST_CASE("what an override declines is a note, unless it declines every order") {
    const Json report = run_program("check " TENON_FIXTURES
                                    "/planted/planted_types.so --op 'div[PlantedDiagonal]' --json")
                            .json();
    CHECK(message(report, "div[PlantedDiagonal]") ==
          "it declines (PlantedDiagonal, PlantedDiagonal), (PlantedDiagonal, Tensor), "
          "(PlantedDiagonal, Scalar), (Tensor, PlantedDiagonal), (Scalar, PlantedDiagonal)");
    CHECK(item(run_program("check " TENON_FIXTURES
                           "/planted/planted_types.so --op 'maximum[PlantedDiagonal]' --json")
                   .json(),
               "maximum[PlantedDiagonal]")["notes"][0]
              .text() == "it declines (Tensor, PlantedDiagonal)");
  }

  TEST_CASE("a finding of a module has its attributes and inputs, and names every parameter") {
    const Json given = run_program("check " TENON_FIXTURES
                                   "/planted/planted_modules.so --op PlantedUnusedOffset --json")
                           .json();
    CHECK(message(given, "PlantedUnusedOffset") ==
          "backward from the output leaves 1 parameter without a gradient: 'offset'");
    CHECK(item(given, "PlantedUnusedOffset")["findings"][0]["sample"].dump() ==
          R"({"offset":{"shape":[3]},"inputs":{"input":{"shape":[4,3]}}})");
    const Json generated =
        run_program("check " + kBroken + "broken_gradients.so --op UnusedParameter --json").json();
    CHECK(
        item(generated, "UnusedParameter")["findings"][0]["sample"]["inputs"]["input"].is_object());
  }

  TEST_CASE("what the shutdown of a plugin leaves changed is a finding of its unloading") {
    const Json report =
        run_program("check " TENON_FIXTURES "/planted/planted_shutdown_folder.so --json").json();
    CHECK(findings(report)["planted_shutdown_folder"] == "folder in unload");
    CHECK(contains(message(report, "planted_shutdown_folder"),
                   "the current folder is /usr, and was /"));
  }

  TEST_CASE("that a plugin with tensor types stays loaded is a note") {
    const Json report =
        run_program("check " TENON_FIXTURES "/planted/planted_types.so --op PlantedUnmade --json")
            .json();
    CHECK(findings(report)["planted_types"] == "ok");
    CHECK(item(report, "planted_types")["notes"][0].text() ==
          "it is not unloaded: still held by tensor type");
    const Outcome shown =
        run_program("check " TENON_FIXTURES "/planted/planted_types.so --op PlantedUnmade");
    CHECK(contains(shown.out, "note: it is not unloaded: still held by tensor type"));
  }

  TEST_CASE("nn's Fold is called, with the inputs of its sample") {
    CHECK(findings(run_program("check nn --op Fold --json").json())["Fold"] == "ok");
  }

  TEST_CASE("a plugin that provides nothing is a fault, with what is most often the cause") {
    const Outcome outcome = run_program("check " TENON_FIXTURES "/archive/nothing.so");
    CHECK(outcome.code == 1);
    CHECK(contains(
        outcome.out,
        "FAULT    nothing\n  empty in open\n"
        "    the plugin provides no op, module, type, override, rewrite or batch rule\n"
        "    expected: a plugin provides something\n    to do: give each definition to TENON_OP"));
    CHECK(contains(outcome.out, "tenon_add_plugin(... LINK library)"));
    // Types and overrides are something.
    CHECK_FALSE(contains(run_program("check " TENON_FIXTURES "/bad_types/crowd_0000.so").out,
                         "empty in open"));
  }

  TEST_CASE("definitions of static libraries that a plugin links are its own") {
    const Json ops = tenon::listing::declarations(TENON_FIXTURES "/archive/archive.so")["ops"];
    REQUIRE(ops.size() == 2);
    std::set<std::string> names;
    for (int64_t i = 0; i < ops.size(); ++i) names.insert(ops[i]["name"].text());
    CHECK(names == std::set<std::string>{"archive.first", "archive.second"});
    CHECK(contains(
        run_program("--plugin-path " TENON_FIXTURES "/archive why archive.first Tensor").out,
        "plugin archive"));
  }

  TEST_CASE("samples that cannot be made name their place") {
    const Json report =
        run_program("check " TENON_FIXTURES "/planted/planted_files.so --json").json();
    CHECK(message(report, "planted.leaves_folder") ==
          "samples/0/path/file: found '../a', expected a path below the sample's folder");
    CHECK(message(report, "planted.unknown_step") ==
          "samples/0/prepare/0/op: no op is named 'planted.writs' (did you mean "
          "'planted.writes'?)");
    CHECK(contains(message(report, "planted.failing_step"),
                   "its `prepare` fails: reads(): there is no file '"));
    CHECK(message(report, "planted.ragged_values") ==
          "samples/0/input/values/1: 1 here and 2 in the list before; lists of one length make a "
          "tensor");
  }

  TEST_CASE("a check leaves no file of its samples behind") {
    const Workspace folder;
    const std::string here = "TMPDIR='" + folder.path().string() + "'";
    CHECK(run_program("check data --op data.write_npy", here).code == 0);
    CHECK(run_program("check data --op data.write_npy --in-process", here).code == 0);
    CHECK(std::filesystem::is_empty(folder.path()));
    CHECK(contains(run_program("check data --op data.write_npy", "TMPDIR=/nowhere").error,
                   "cannot find a folder for temporary files"));
  }

  TEST_CASE("a file that a call leaves is named with its folder, and with what to do") {
    const Workspace folder;
    std::filesystem::create_directory(folder.path("tmp"));
    std::filesystem::create_directory_symlink("tmp", folder.path("link"));
    const std::string check =
        "check " TENON_FIXTURES "/planted/planted_process.so --op planted.leaves_file --json";
    for (const char* name : {"tmp", "link", "tmp/../tmp/"}) {
      CAPTURE(name);
      const Json report = run_program(check, "TMPDIR='" + folder.path(name).string() + "'").json();
      CHECK(message(report, "planted.leaves_file") ==
            "'planted.log' is left in the current folder");
      CHECK(contains(item(report, "planted.leaves_file")["findings"][0]["remedy"].text(),
                     R"(name files in samples as {"file": "out.csv"})"));
    }
  }

  TEST_CASE("variables that name folders mean the same in the process of a check") {
    const Workspace folder;
    const std::string here = std::filesystem::canonical(folder.path()).string();
    const auto printed = [&](const std::string& libraries, const std::string& plugins) {
      const std::string check =
          "check " TENON_FIXTURES "/planted/planted_process.so --op planted.prints_folders --json";
      return message(
          run_program_in(folder.path(), check,
                         "LD_LIBRARY_PATH='" + libraries + "' TENON_PLUGIN_PATH='" + plugins + "'")
              .json(),
          "planted.prints_folders");
    };
    // The dynamic linker takes an empty entry for the current folder, and $ORIGIN for that of the
    // program; TENON_PLUGIN_PATH has neither.
    const std::string changed = printed("$ORIGIN/planted:b;c::/d/../d", "$e::f:/g/../g");
    CAPTURE(changed);
    CHECK(contains(changed, "$ORIGIN/planted:" + here + "/b;" + here + "/c:" + here + ":/d/../d|" +
                                here + "/$e::" + here + "/f:/g/../g|"));
    CHECK(contains(printed("/planted/x;/y", ":/g:"), "/planted/x;/y|:/g:|"));
    CHECK(contains(printed("/planted:", "/g"), "/planted:" + here + "|/g|"));
  }

  TEST_CASE("what a check says about a long document is short") {
    std::string list = "[0";
    for (int i = 1; i < 1000; ++i) list += "," + std::to_string(i);
    const Outcome outcome = run_program("check math --op abs --check '" + list + "]'");
    CHECK(outcome.code != 0);
    CHECK(contains(outcome.error, "found [0,1,2,"));
    CHECK(contains(outcome.error, "..., expected an object of options"));
    CHECK(outcome.error.size() < 400);
    CHECK(contains(run_program("check math --op abs --check '[1]'").error,
                   "found [1], expected an object of options"));
  }

  TEST_CASE("an override of fewer digits is right where samples say so") {
    const std::string check =
        "check " TENON_FIXTURES "/planted/planted_overrides.so --op 'exp[PlantedBoxed]' --json";
    CHECK(contains(findings(run_program(check).json())["exp[PlantedBoxed]"], "override-result"));
    CHECK(findings(run_program(check + R"( --check '{"precision": false}')")
                       .json())["exp[PlantedBoxed]"] == "ok");
  }

  TEST_CASE("the report is a page as well, which shows what a plugin prints as text") {
    const Workspace folder;
    const Outcome outcome =
        run_program_in(folder.path(), "check " + kBroken + "broken_gradients.so --html page.html");
    CHECK(outcome.code == 1);
    const std::string page = folder.read("page.html");
    CHECK(page.rfind("<!doctype html>", 0) == 0);
    CHECK(contains(page, "<th>second order</th>"));
    CHECK(contains(page, "<a href=\"#item-"));
    CHECK(contains(page, "broken.loses_factor</a>"));
    CHECK(
        contains(page, "<dt>Expected</dt><dd><pre>backward agrees with central differences</pre>"));
    CHECK(contains(page, "{&quot;input&quot;:{&quot;shape&quot;:[2,3]}}"));
    CHECK_FALSE(contains(page, "<script"));
    CHECK(run_program("check math --op abs --html /nowhere/page.html").code == 1);
    CHECK_FALSE(std::filesystem::exists(folder.path("page.html.new")));
  }

  TEST_CASE("a program without its checker says how to build it") {
    const Workspace folder;
    std::filesystem::copy(TENON_PROGRAM, folder.path("tenon"));
    const std::string libraries =
        (std::filesystem::path(TENON_PROGRAM).parent_path().parent_path() / "lib").string();
    const std::string command = "LD_LIBRARY_PATH='" + libraries + "' '" +
                                folder.path("tenon").string() + "' check math 2>'" +
                                folder.path("error").string() + "'";
    CHECK(std::system(command.c_str()) != 0);
    CHECK(contains(folder.read("error"),
                   "tenon-check' is not there; build it with `cmake --build "
                   "build --target tenon_check`"));
  }

  TEST_CASE("files of a check are out of the reach of other users") {
    const Workspace folder;
    folder.write("victim", "old");
    // A user who knew the name could have the checker write through a link of theirs.
    const Outcome outcome =
        run_program_in(folder.path(), "check nn --op Linear --in-process",
                       "TMPDIR='" + folder.path().string() +
                           "' sh -c 'ln -s victim tenon-check-$$.safetensors; exec \"$0\" \"$@\"'");
    CHECK(outcome.code == 0);
    CHECK(folder.read("victim") == "old");
    for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
      CHECK_FALSE(entry.is_directory());
  }
}
