// Help, wrong usage and exit codes.
#include <doctest/doctest.h>

#include "program.hpp"

TEST_SUITE("arguments") {
  TEST_CASE("help names every command") {
    const Outcome help = run_program("--help");
    CHECK(help.code == 0);
    CHECK(help.error.empty());
    for (const char* command :
         {"run", "plan", "plugins", "ops", "modules", "overridable", "ignored", "types", "coverage",
          "why", "ambiguities", "signature", "show", "check", "version", "new", "schema", "docs"}) {
      CHECK(contains(help.out, std::string("\n  ") + command + " "));
    }
  }

  TEST_CASE("each command has help with an example") {
    for (const char* command :
         {"run", "plan", "plugins", "ops", "modules", "overridable", "ignored", "types", "coverage",
          "why", "ambiguities", "signature", "show", "check", "version", "new", "schema", "docs"}) {
      CAPTURE(command);
      const Outcome help = run_program(std::string(command) + " --help");
      CHECK(help.code == 0);
      CHECK(contains(help.out, std::string("Usage: tenon ") + command));
      CHECK(contains(help.out, std::string("Examples:\n  tenon ")));
      CHECK(!contains(help.out, "\n\n\n"));
      CHECK(!contains(help.out, ":FILE"));
    }
    CHECK(contains(run_program("why --help").out, "Usage: tenon why [OPTIONS] OP TYPE...\n"));
  }

  TEST_CASE("an empty argument is wrong usage, of every command") {
    for (const char* arguments : {"run ''",
                                  "run x.json --evaluate ''",
                                  "run x.json --plot ''",
                                  "plan ''",
                                  "check ''",
                                  "check math --op ''",
                                  "check math --check ''",
                                  "ops ''",
                                  "overridable ''",
                                  "signature ''",
                                  "show ''",
                                  "why '' Tensor",
                                  "coverage ''",
                                  "coverage S --baseline ''",
                                  "coverage S --config ''",
                                  "ambiguities --config ''",
                                  "new ''",
                                  "new x --dir ''",
                                  "plugins ''",
                                  "modules ''",
                                  "types ''",
                                  "ignored ''",
                                  "version ''",
                                  "plugins --plugin-path ''",
                                  "''"}) {
      CAPTURE(arguments);
      const Outcome outcome = run_program(arguments);
      CHECK(outcome.code == 2);
      CHECK(outcome.out.empty());
    }
    CHECK(contains(run_program("ops ''").error, "pattern: it is empty; see `tenon ops --help`"));
  }

  TEST_CASE("wrong usage ends with 2 and says what to do") {
    struct Wrong {
      const char *arguments, *message;
    };
    for (const Wrong& wrong : {
             Wrong{"chekc", "unknown command 'chekc' (did you mean 'check'?)"},
             Wrong{"rnu x.json", "unknown command 'rnu' (did you mean 'run'?)"},
             Wrong{"run", "see `tenon run --help`"},
             Wrong{"run x.json --epochs 0", "--epochs: '0' is not a whole number from 1"},
             Wrong{"run x.json --epochs many", "'many' is not a whole number"},
             Wrong{"run x.json --seed -1", "'-1' is not a whole number from 0"},
             Wrong{"plugins --plugin-path /nowhere", "'/nowhere' is not an existing folder"},
             Wrong{"plugins --threads 0", "'0' is not a whole number from 1 to 1024"},
             Wrong{"signature add mul", "unexpected argument 'mul'; see `tenon signature --help`"},
             Wrong{"plan x.json --fast", "unknown option '--fast'; see `tenon plan --help`"},
             Wrong{"run x.json --epohcs 3", "unknown option '--epohcs' (did you mean '--epochs'?)"},
             Wrong{"ops --jsn", "unknown option '--jsn' (did you mean '--json'?)"},
             Wrong{"--version --jsom", "unknown option '--jsom' (did you mean '--json'?)"},
             Wrong{"--version --json --epohcs", "unknown option '--epohcs'; see `tenon --help`"},
             Wrong{"new", "the name of the plugin is required; see `tenon new --help`"},
             Wrong{"new x --data y.csv", "--data belongs to --config"},
             Wrong{"new --config --c", "belong to a plugin project"},
             Wrong{"run x.json --evaluate w --detect-anomaly", "are about training"},
             Wrong{"run x.json --evaluate w.tenon --as-is", "--as-is calls the modules of a model"},
             Wrong{"why add", "type is required; see `tenon why --help`"},
             Wrong{"coverage S --config /nowhere.json", "'/nowhere.json' is not an existing file"},
         }) {
      CAPTURE(wrong.arguments);
      const Outcome outcome = run_program(wrong.arguments);
      CHECK(outcome.code == 2);
      CHECK(outcome.out.empty());
      CHECK(outcome.error.rfind("tenon: ", 0) == 0);
      CHECK(contains(outcome.error, wrong.message));
    }
  }

  TEST_CASE("an error names its kind and ends with 1") {
    const Outcome outcome = run_program("signature ad");
    CHECK(outcome.code == 1);
    CHECK(outcome.out.empty());
    CHECK(outcome.error == "tenon: ValueError: no op is named 'ad' (did you mean 'add'?)\n");
  }

  TEST_CASE("options of the program go before the command or behind it") {
    CHECK(run_program("--threads 1 version --json").json()["threads"].integer() == 1);
    CHECK(run_program("version --json --threads 1").json()["threads"].integer() == 1);
  }

  TEST_CASE("output that cannot be written is a fault") {
    const Outcome outcome = run_program("ops >/dev/full");
    CHECK(outcome.code == 1);
    CHECK(outcome.error == "tenon: IOError: standard output could not be written\n");
  }
}
