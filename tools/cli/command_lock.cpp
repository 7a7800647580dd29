// tenon lock: pins the plugins that a config can use, and who provides what.
#include <tenon/runtime.hpp>
#include <tenon/training/config.hpp>

#include "commands.hpp"
#include "format.hpp"
#include "lock_file.hpp"
#include "terminal.hpp"
#include "text.hpp"

namespace cli {

using tenon::Json;

int lock_config(const LockOptions& options) {
  const Json config = tenon::training::read_config(options.config);
  if (options.check) {
    freeze(config, options.config);
    print(format_text("nothing differs from {}\n", lock_file_of(options.config)));
    return kFine;
  }
  tenon::apply_config_lazily(config);
  const Json lock = tenon::describe("lock");
  const std::string file = options.output.empty() ? lock_file_of(options.config) : options.output;
  tenon::write_file(file, lock.dump(2) + "\n");
  int64_t libraries = 0;
  for (int64_t i = 0; i < lock["plugins"].size(); ++i)
    libraries += lock["plugins"][i]["libraries"].size();
  print(format_text(
      "locked {} with {} and the providers of {} in {}\n",
      counted(lock["plugins"].size(), "plugin"), counted(libraries, "linked file"),
      counted(lock["ops"].size() + lock["modules"].size() + lock["types"].size(), "name"), file));
  return kFine;
}

}  // namespace cli
