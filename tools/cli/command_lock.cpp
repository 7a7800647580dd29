// tenon lock: pins the plugins that a config can use, and who provides what.
#include <filesystem>
#include <fstream>
#include <iterator>

#include <tenon/runtime.hpp>
#include <tenon/state/atomic_file.hpp>
#include <tenon/training/config.hpp>
#include <tenon/training/files.hpp>

#include "commands.hpp"
#include "format.hpp"
#include "lock_file.hpp"
#include "terminal.hpp"
#include "text.hpp"

namespace cli {

namespace training = tenon::training;

using tenon::Json;

namespace {

// Why the lock file may not be written; empty: it may.
std::string fault_of(const Json& config, const LockOptions& options, const std::string& file) {
  std::string fault = training::output_fault(file);
  if (fault.empty()) fault = training::overwrite_fault(config, file);
  if (!fault.empty() || !std::filesystem::exists(file)) return fault;
  const std::string refusal =
      format_text("cannot write '{}': it is there and not a lock file", file);
  if (training::same_file(file, options.config)) return refusal;
  std::ifstream stream(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  try {
    return Json::parse(text)["lock_version"].defined() ? "" : refusal;
  } catch (const tenon::Error&) {
    return refusal;
  }
}

}  // namespace

int lock_config(const LockOptions& options) {
  const Json config = training::read_config(options.config);
  const std::string file =
      options.output.empty()
          ? lock_file_of(options.config)
          : std::filesystem::absolute(options.output).lexically_normal().string();
  if (options.check) {
    freeze(config, file);
    print(format_text("nothing differs from {}\n", file));
    return kFine;
  }
  if (const std::string fault = fault_of(config, options, file); !fault.empty())
    throw tenon::IOError(fault);
  apply_unlocked(config);
  const Json lock = tenon::describe("lock");
  tenon::state::write_file(file, lock.dump(2) + "\n");
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
