// tenon wrappers: typed C++ functions for the ops of a plugin.
#include "commands.hpp"
#include "terminal.hpp"
#include "wrappers.hpp"

namespace cli {

int write_wrappers(const WrappersOptions& options) {
  const wrappers::Files files = wrappers::write(options.plugin, !options.methods.empty());
  if (options.output.empty())
    print(files.functions);
  else
    wrappers::save(options.output, files.functions);
  if (!options.methods.empty()) wrappers::save(options.methods, files.methods);
  return kFine;
}

}  // namespace cli
