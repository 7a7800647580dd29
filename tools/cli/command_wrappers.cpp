// tenon wrappers: typed C++ functions for the ops of a plugin.
#include "commands.hpp"
#include "terminal.hpp"
#include "wrappers.hpp"

namespace cli {

namespace {

struct WrappersOptions {
  std::string plugin;   // id or path
  std::string output;   // empty: standard output
  std::string methods;  // the file for declarations of class Tensor; empty: none
};

int write_wrappers(const WrappersOptions& options) {
  const wrappers::Files files = wrappers::write(options.plugin, !options.methods.empty());
  if (options.output.empty())
    print(files.functions);
  else
    wrappers::save(options.output, files.functions);
  if (!options.methods.empty()) wrappers::save(options.methods, files.methods);
  return kFine;
}

}  // namespace

void define_wrappers(Commands& commands) {
  auto [command, options] =
      commands.add(write_wrappers, "wrappers", "Write typed C++ functions for the ops of a plugin",
                   "  tenon wrappers build/hello.so -o hello_ops.hpp\n"
                   "  tenon wrappers hello\n"
                   "They are made from the plugin's facts; none of its code runs. In CMake,\n"
                   "tenon_add_plugin(... WRAPPERS) does the same at every build.");
  command.argument(options.plugin, "PLUGIN", "Id or path of the plugin");
  command.option("-o,--output", options.output, "FILE",
                 "The header; standard output when left out");
  command.option("--methods", options.methods, "FILE", "");  // for the SDK's own class Tensor
}

}  // namespace cli
