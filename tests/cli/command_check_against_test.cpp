// tenon check --against: the same calls through two providers of an op.
#include <map>
#include <set>

#include <doctest/doctest.h>

#include <tenon/listing/listing.hpp>
#include <tenon/runtime.hpp>

#include "program.hpp"

namespace {

using tenon::Json;

const std::string kPair = TENON_FIXTURES "/pair/";

Outcome compared(const std::string& plugin, const std::string& against,
                 const std::string& options = "--json") {
  return run_program("check " + kPair + plugin + ".so --against " + kPair + against + ".so " +
                     options);
}

Json item(const Json& report, const std::string& name) {
  for (int64_t i = 0; i < report["items"].size(); ++i) {
    if (report["items"][i]["name"].text() == name) return report["items"][i];
  }
  return {};
}
std::set<std::string> kinds(const Json& item) {
  std::set<std::string> all;
  for (int64_t i = 0; i < item["findings"].size(); ++i)
    all.insert(item["findings"][i]["kind"].text());
  return all;
}
int64_t numbers(const Json& comparison) {
  int64_t sum = 0;
  for (int64_t h = 0; h < comparison["histograms"].size(); ++h) {
    const Json classes = comparison["histograms"][h]["ulp"];
    for (int64_t c = 0; c < classes.size(); ++c) sum += classes[c]["numbers"].integer();
  }
  return sum;
}

}  // namespace

TEST_SUITE("check against") {
  TEST_CASE("two providers that round in another order pass") {
    const Outcome outcome = compared("pair_first", "pair_equal");
    CAPTURE(outcome.out);
    CHECK(outcome.code == 0);
    const Json report = outcome.json();
    CHECK(item(report, "pair.alone").is_null());  // no other plugin provides it
    const Json sums = item(report, "pair.row_products")["against"];
    CHECK(sums["provider"].text() == "pair_equal");
    CHECK(sums["compared"].integer() > 10);
    CHECK(numbers(sums) > 10000);
    // They differ, and by less than the bound.
    CHECK(sums["worst"]["share"].number() > 0);
    CHECK(sums["worst"]["share"].number() < 1);
  }

  TEST_CASE("a difference beyond rounding is found, in results and in gradients") {
    const Outcome outcome = compared("pair_first", "pair_other");
    CHECK(outcome.code == 1);
    const Json report = outcome.json();
    const std::map<std::string, std::set<std::string>> expected = {
        {"pair.row_products", {}},
        {"pair.drifts", {"provider-differs"}},
        {"pair.wrong_gradient", {"provider-differs"}},
        {"pair.refuses", {"provider-refuses"}},
        {"pair.names", {"provider-differs"}},
        {"pair.declines", {}},
        {"pair.draws", {}},
        {"pair.not_finite", {"provider-differs"}},
        {"pair.counts_", {"provider-differs"}},
        {"pair.refuses_backward", {"provider-refuses", "provider-differs"}},
        {"pair.sum", {"provider-differs"}},
        {"pair.turned", {"provider-differs"}},
        {"pair.path", {"provider-differs"}},
        {"pair.sampled", {"provider-differs"}}};
    for (const auto& row : expected) {
      const auto& name = row.first;
      const auto& found = row.second;
      CAPTURE(name);
      REQUIRE(item(report, name).is_object());
      CHECK(kinds(item(report, name)) == found);
    }
    const Json drift = item(report, "pair.drifts");
    CHECK(contains(drift["findings"][0]["message"].text(), "at element 17, from pair_other"));
    CHECK(contains(item(report, "pair.wrong_gradient")["findings"][0]["message"].text(),
                   "the gradient of 'input' has"));
    CHECK(contains(item(report, "pair.refuses")["findings"][0]["message"].text(),
                   "pair_other refuses a call that pair_first takes: refuses(): f32 is too small"));
    CHECK(item(report, "pair.draws")["notes"].size() == 1);
    CHECK(contains(item(report, "pair.not_finite").dump(),
                   "has 3 at element 1, from pair_other nan"));
    CHECK(contains(item(report, "pair.counts_").dump(), "'state' after the call has"));
    const std::string backward = item(report, "pair.refuses_backward").dump();
    CHECK(contains(backward, "pair_other refuses the backward of a call that pair_first takes"));
    CHECK(contains(backward, "result 0 has"));
    CHECK(contains(item(report, "pair.turned").dump(),
                   "result 0 is [2, 3] c64, from pair_other [3, 2] c64"));
    CHECK(contains(item(report, "pair.path").dump(), "FOLDER/a/b"));
    CHECK(contains(item(report, "pair.sampled").dump(), "is 99, from pair_other 0"));
  }

  TEST_CASE("providers that share what is not compared, too, each with the ops it is first for") {
    const Outcome outcome = run_program("check " + kPair + "pair_first.so --against " + kPair +
                                        "pair_equal.so," + kPair + "pair_other.so --json");
    CHECK_MESSAGE(outcome.code == 0, outcome.out);
    const Json report = outcome.json();
    CHECK(item(report, "pair.sampled")["against"]["provider"].text() == "pair_equal");
    const Json last = item(report, "pair.at_last")["against"];
    CHECK(last["provider"].text() == "pair_other");
    CHECK(last["compared"].integer() > 0);
  }

  TEST_CASE("a preference of the environment for another plugin is a finding") {
    const std::string prefer = "TENON_PREFER='pair.*=pair_other'";
    const std::string other = kPair + "pair_other.so";
    const Outcome against =
        run_program("check " + kPair + "pair_first.so --against " + other + " --json", prefer);
    CHECK(against.code == 1);
    const Json opened = against.json()["items"][0];
    CHECK(kinds(opened) == std::set<std::string>{"open"});
    CHECK(contains(opened.dump(),
                   "would not be provided by plugin 'pair_first' but 'pair_other', "
                   "preferred by TENON_PREFER: pair.*"));
    const Outcome alone =
        run_program("--plugin-path " + kPair + " check pair_first --op pair.names --json", prefer);
    CHECK(alone.code == 1);
    CHECK(kinds(alone.json()["items"][0]) == std::set<std::string>{"open"});
  }

  TEST_CASE("what was found in the plugin's calls stays when the other one does not open") {
    const Outcome outcome = compared("pair_first", "pair_closed", "--op pair.crashes --json");
    CHECK(outcome.code == 1);
    const Json report = outcome.json();
    CHECK(kinds(report["items"][0]) == std::set<std::string>{"crash"});
    CHECK(kinds(item(report, "pair.crashes")) == std::set<std::string>{"crash"});
  }

  TEST_CASE("an op of which nothing was compared is skipped with the reason") {
    const Json report = compared("pair_first", "pair_equal").json();
    const Json declines = item(report, "pair.declines_all");
    CHECK(declines["state"].text() == "skipped");
    CHECK(contains(declines["skipped"].text(), "nothing was compared: each call was declined"));
    CHECK(contains(item(report, "pair.draws")["skipped"].text(), "its results are random"));
    CHECK(item(report, "pair.path")["state"].text() == "ok");
    CHECK(item(report, "pair.sum")["against"]["worst"]["share"].number() > 0);
  }

  TEST_CASE("the worst case has what repeats it") {
    const Json report = compared("pair_first", "pair_other", "--seed 5 --json").json();
    const Json worst = item(report, "pair.drifts")["against"]["worst"];
    CHECK(worst["element"].integer() == 17);
    CHECK(worst["share"].number() > 1);
    CHECK(worst["found"].is_number());
    CHECK(worst["other"].is_number());
    CHECK(worst["reference"].is_number());
    CHECK(worst["call"]["sample"]["input"]["shape"].size() > 0);
    CHECK(worst["call"]["tensors"][0]["strides"].size() ==
          worst["call"]["tensors"][0]["shape"].size());
    CHECK(worst["call"]["seed"].integer() >= 5);
    const Json again = compared("pair_first", "pair_other", "--seed 5 --json").json();
    CHECK(item(again, "pair.drifts")["against"].dump() ==
          item(report, "pair.drifts")["against"].dump());
  }

  TEST_CASE("calls that a provider declines are counted with the reason, not compared") {
    const Json declines =
        item(compared("pair_first", "pair_equal").json(), "pair.declines")["against"];
    CHECK(declines["compared"].integer() > 0);
    CHECK(declines["compared"].integer() < declines["calls"].integer());
    int64_t count = 0;
    for (int64_t i = 0; i < declines["declined"].size(); ++i) {
      CHECK(declines["declined"][i]["provider"].text() == "pair_first");
      CHECK(declines["declined"][i]["reason"].text() == "more than 6 elements");
      count += declines["declined"][i]["calls"].integer();
    }
    CHECK(count == declines["calls"].integer() - declines["compared"].integer());
  }

  TEST_CASE("text and page show the histogram, the worst case and the findings") {
    const Workspace folder;
    const Outcome outcome =
        run_program_in(folder.path(), "check " + kPair + "pair_first.so --against " + kPair +
                                          "pair_other.so --html page.html");
    CHECK(outcome.code == 1);
    CHECK(contains(outcome.out, "against pair_other: "));
    CHECK(contains(outcome.out, "f32 results by ULP: 0: "));
    CHECK(contains(outcome.out, "worst: "));
    CHECK(contains(outcome.out, "more than 6 elements"));
    CHECK(contains(outcome.out, "to do: find which of the two is right"));
    const std::string page = folder.read("page.html");
    CHECK(contains(page, "<h3>pair.drifts</h3><pre>"));
    CHECK(contains(page, "against pair_other: "));
  }

  TEST_CASE("TENON_ISA limits the instructions of oneDNN as well") {
    if (!contains(tenon::listing::plugins().dump(), "\"id\":\"dnnl\"")) return;  // optional
    // Blocks of 8 channels are those of registers of 256 bits.
    const std::string narrow = "call dnnl.from_blocked f32[1,1,2,2,8] 8";
    CHECK(run_program(narrow, "TENON_ISA=v3").code == 0);
    CHECK(run_program(narrow, "TENON_ISA=baseline").code == 0);
    // oneDNN's own variable comes first.
    CHECK(run_program(narrow, "TENON_ISA=v3 ONEDNN_MAX_CPU_ISA=ALL").code ==
          run_program(narrow).code);
  }

  TEST_CASE("dnnl agrees with nn and blas") {
    if (!contains(tenon::listing::plugins().dump(), "\"id\":\"dnnl\"")) return;  // optional
    const Outcome outcome = run_program("check dnnl --against nn,blas --json --timeout 600");
    CHECK_MESSAGE(outcome.code == 0, outcome.out);
    const Json report = outcome.json(), items = report["items"];
    for (int64_t i = 1; i < items.size(); ++i) {
      CAPTURE(items[i]["name"].text());
      // Without registers of 512 bits some decline every call.
      if (contains(items[i]["skipped"].text(), "each call was declined")) continue;
      CHECK(items[i]["against"]["compared"].integer() > 0);
    }
    for (const char* always : {"nn.functional.conv2d", "mm"})
      CHECK(item(report, always)["against"]["compared"].integer() > 0);
  }

  TEST_CASE("a provider that is not known, or has none of the ops, is an error with what to name") {
    const Outcome unknown = run_program("check blas --against nnn");
    CHECK(unknown.code == 1);
    CHECK(contains(unknown.error, "--against: no plugin is named 'nnn'"));
    const Outcome none = run_program("check optim --against nn");
    CHECK(none.code == 1);
    CHECK(contains(none.error, "plugin 'nn' provides no op of 'optim'"));
    const Outcome itself = run_program("check nn --against nn");
    CHECK(itself.code == 1);
    CHECK(contains(itself.error, "'nn' is the plugin itself"));
    const Outcome twice = run_program("check " + kPair + "pair_first.so --against " + kPair +
                                      "pair_equal.so," + kPair + "pair_equal.so");
    CHECK(twice.code == 1);
    CHECK(contains(twice.error, "pair_equal.so' is given twice; name it once"));
    const Outcome here = compared("pair_first", "pair_equal", "--in-process");
    CHECK(here.code == 2);
    CHECK(contains(here.error, "omit --in-process"));
  }
}
