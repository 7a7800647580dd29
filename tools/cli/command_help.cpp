// tenon help: topics, and the pages of commands.
#include <algorithm>

#include <CLI/CLI.hpp>

#include "commands.hpp"
#include "format.hpp"
#include "guides.hpp"
#include "help.hpp"
#include "terminal.hpp"
#include "text.hpp"

namespace cli {

namespace {

struct HelpOptions {
  std::string topic;
  bool man = false, names = false;
  CLI::App* program = nullptr;
};

struct Topic {
  const char *name, *summary, *text;
};

constexpr Topic kTopics[] = {
    {"configs", "The JSON file that a run is described by",
     R"(A config is a JSON file, with comments and trailing commas, that `tenon run`
does. Only "schema_version" is required:

  {
    "schema_version": 1,
    "data": {"path": "samples.csv"},
    "model": {"type": "Linear", "in_features": 4, "out_features": 3},
    "loss": {"type": "cross_entropy"},
    "optimizer": {"type": "adam", "learning_rate": 0.01},
    "training": {"epochs": 20, "batch_size": 32},
    "output": {"weights": "model.safetensors"}
  }

  plugins            plugins by name or path, with options, version and hash
  ops, types         providers that are preferred, ops that are disabled
  data, split        samples, and how they are divided
  model              a module with its attributes; "init", "load" and "frozen"
                     apply to it and to those inside
  loss, metrics, optimizer, training, output
                     how it is trained, and what is written

  tenon new my_model --config    writes one, each key with its meaning
  tenon docs                     prints every key, and the ops to choose from
  tenon schema                   prints the JSON Schema for editors
  tenon plan CONFIG              shows what a run would do, and every fault
)"},
    {"schemas", "Signatures of ops, as plugins declare them",
     R"(A schema is the only place of an op's signature:

  nn.functional.linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor

  Tensor, Tensor[]     a tensor, or a list of them
  Tensor|Scalar        a tensor, or a number
  int, float, bool, str, dtype, Scalar
                       values; int[] and the like are lists, int[2] one of two,
                       for which a single one counts for all
  any, json            a value of any kind, a document
  Module, Module[]     modules; attributes of modules alone
  T?                   may be None
  *                    what is behind it is given by name
  Tensor(a), Tensor(a!)
                       the result shares its memory; the op changes it
  -> (Tensor values, Tensor indices)
                       several results, with names

  tenon signature OP   prints it as callers write it
  tenon show OP        prints schema, gradient, providers
  tenon call OP ...    calls it
)"},
    {"types", "Tensor types, dtypes, and how calls choose",
     R"(A tensor type stands in for Tensor: a subclass of Tensor, or an unrelated
class. An op asks the types of its operands before it runs: an override for
the op, then the type's handler, `tenon_function`; each may decline. Without
types the kernel of the operands' dtype runs, of the provider that the config
prefers.

Dtypes that ops compute in: bool, u8, i32, i64, f32, f64; c64 and c128 where
an op has complex kernels. Stored and converted: i8, i16, u16, u32, u64, f16,
bf16, and f8_e4m3, f8_e5m2, f8_e8m0, f6_e2m3, f6_e3m2, f4_e2m1 of quantized
weights.

  tenon types                        lists the types that plugins declare
  tenon why add ScalarTensor Tensor  explains what a call would run
  tenon coverage ScalarTensor        lists which ops a type handles
  tenon ambiguities                  lists overrides that tie
)"},
    {"environment", "Environment variables",
     R"(  TENON_PLUGIN_PATH        folders of plugins, with ':' between, searched first
  TENON_PLUGIN_AUTOLOAD=0  of plugins in folders use only those that are named
  TENON_PREFER             preferred providers: "nn.*=mine,add[A,B]=mine"
  TENON_NUM_THREADS        threads to compute with, else OMP_NUM_THREADS
  TENON_ISA                baseline, v3 or v4: at most these loops
  TENON_CACHE_LIMIT        bytes of released memory that the process keeps
  TENON_LOG                trace, debug, info, warning, error or off
  TENON_TRACE              text or json: trace all calls, to standard error or
  TENON_TRACE_FILE         this file
  TENON_LIVE=1             print recorded calls that are alive at exit
  TENON_KEEP_FAILURES      folder in which `tenon` keeps calls of ops that fail,
                           for tenon replay
  TENON_QUARANTINE=0       load plugins that ended a process before
  XDG_DATA_HOME            its tenon/plugins are plugins of the user, else those
                           of ~/.local/share
  XDG_CACHE_HOME           its tenon has compiled kernels of opencl, else that
                           of ~/.cache
  XDG_STATE_HOME           its tenon has the records of quarantine, else that of
                           ~/.local/state
  TENON_PAGER, PAGER       the pager; empty or cat: none. LESS is FRX unless set
  COLUMNS                  width of listings, also in a pipe
  NO_COLOR                 no colour, unless --color says so
  TERM=dumb                no colour, no pager
)"},
    {"output", "Listings in terminals, pipes and scripts",
     R"(On a terminal listings fit its width: the longest column is broken into lines,
and names are grouped by namespace. They go through a pager, `less` unless
TENON_PAGER or PAGER names another; --no-pager prints them at once.

In a pipe or a file each row is a line of any length with the name in full,
without colour, for grep and cut; --wide prints the same on a terminal.
COLUMNS, where it is exported, is the width in both cases. --names prints
names alone. --json prints data whose shapes are stable, which scripts should
read.

Ops that are for other ops, such as gradients, are internal: a namespace in
the name is `grad`, a part of it begins with an underscore, or it ends in
`_backward`. Listings leave them out, and a part of the name does not find
them, without --all. Names make ops of other plugins internal, too.
`overridable` and `coverage` are complete, and have them.

  tenon ops conv              names with the word in them
  tenon ops nn.functional     a namespace
  tenon ops 'nn.*pool?d'      a pattern: * any text, ? a letter, [12] 1 or 2
)"},
    {"exit-codes", "Exit codes",
     R"(    0  fine
    1  a fault was found: a refused plugin, a failed check, a call that fails, a
       name that is not there, a pattern that matches nothing; and `tenon`
       without a command
    2  wrong usage: an unknown command or option, an argument that is missing
   75  ranks of a distributed run are out of step
  130  interrupted
)"}};

std::string topics_text() {
  std::string text = "Topics:\n";
  for (const Topic& topic : kTopics)
    text += format_text("  {:<13} {}\n", topic.name, topic.summary);
  return text + "\n`tenon help COMMAND` is `tenon COMMAND --help`.\n";
}

const Topic* topic_of(const std::string& name) {
  const auto* const found = std::find_if(std::begin(kTopics), std::end(kTopics),
                                         [&](const Topic& topic) { return topic.name == name; });
  return found == std::end(kTopics) ? nullptr : found;
}

std::string topic_text(const Topic& topic) {
  return fitted(format_text("{}\n\n{}", paint(stdout, Style::bold, topic.summary), topic.text),
                output_width());
}

bool names_command(const CLI::App& program, std::string_view name) {
  const auto commands = program.get_subcommands({});
  return std::any_of(commands.begin(), commands.end(),
                     [&](const CLI::App* command) { return command->get_name() == name; });
}

int print_help_of(const HelpOptions& options) {
  CLI::App& program = *options.program;
  std::vector<std::string> names;
  if (options.names) {
    for (CLI::App* command : program.get_subcommands({})) {
      if (!command->get_group().empty()) print(format_text("{}\n", command->get_name()));
    }
    for (const Topic& topic : kTopics) {
      if (!options.man && !names_command(program, topic.name))
        print(format_text("{}\n", topic.name));
    }
    return kFine;
  }
  const Topic* const topic = options.man ? nullptr : topic_of(options.topic);
  for (CLI::App* command : program.get_subcommands({})) {
    if (!command->get_group().empty()) names.push_back(command->get_name());
    if (command->get_name() != options.topic) continue;
    if (!options.man) page_output();
    if (topic != nullptr) print(format_text("{}\n", topic_text(*topic)));
    print(options.man ? manual_page(*command) : command->help());
    return kFine;
  }
  if (options.man) {
    if (!options.topic.empty() && options.topic != "tenon")
      throw UsageError(format_text("no command is named '{}'{}", options.topic,
                                   suggested(options.topic, names)));
    print(manual_page(program));
    return kFine;
  }
  if (options.topic.empty()) {
    page_output();
    print(format_text("{}\n{}", first_steps(), topics_text()));
    if (const std::string guides = guides_line(); !guides.empty()) print_fitted("\n" + guides);
    return kFine;
  }
  if (topic != nullptr) {
    page_output();
    print(topic_text(*topic));
    return kFine;
  }
  for (const Topic& one : kTopics) names.emplace_back(one.name);
  throw UsageError(format_text("no topic and no command is named '{}'{}; `tenon help` lists them",
                               options.topic, suggested(options.topic, names)));
}

}  // namespace

void define_help(Commands& commands) {
  auto [command, options] = commands.add(print_help_of, "help", "Explain a topic, or a command",
                                         "  tenon help\n"
                                         "  tenon help environment\n"
                                         "  tenon help run\n"
                                         "  tenon help --man run > tenon-run.1");
  command.optional_argument(options.topic, "TOPIC",
                            "The topic or command; `tenon help` lists them");
  command.flag("--man", options.man, "Print the manual page of a command, or of tenon, for man(1)");
  command.flag("--names", options.names, "");
  options.program = &commands.program();
}

}  // namespace cli
