// tenon lock: pins the plugins that a config can use, and who provides what.
#include <filesystem>

#include <tenon/runtime.hpp>
#include <tenon/state/atomic_file.hpp>
#include <tenon/training/config.hpp>
#include <tenon/training/files.hpp>
#include <tenon/trust/lock.hpp>

#include "commands.hpp"
#include "format.hpp"
#include "lock_file.hpp"
#include "terminal.hpp"
#include "text.hpp"

namespace cli {

namespace training = tenon::training;
namespace trust = tenon::trust;

using tenon::Json;

namespace {

struct LockOptions {
  std::string config;
  std::string output;  // empty: tenon.lock beside the config
  bool check = false;  // compare alone
};

int64_t count(size_t size) { return static_cast<int64_t>(size); }

// Why the lock file may not be written; empty: it may.
std::string fault_of(const Json& config, const LockOptions& options, const std::string& file) {
  std::string fault = training::output_fault(file);
  if (fault.empty()) fault = training::overwrite_fault(config, file);
  if (!fault.empty() || !std::filesystem::exists(file)) return fault;
  const std::string refusal =
      format_text("cannot write '{}': it is there and not a lock file", file);
  if (training::same_file(file, options.config)) return refusal;
  try {
    return Json::parse(training::read_file(file))["lock_version"].defined() ? "" : refusal;
  } catch (const tenon::Error&) {
    return refusal;
  }
}

void warn_left_out(const trust::Refusal& refusal) {
  constexpr int32_t kWarning = 3;
  const std::string text = format_text("left out of the lock: {}", refusal.text());
  tenon::service::threads().log(kWarning, refusal.plugin.c_str(), text.data(), count(text.size()));
}

int lock_config(const LockOptions& options) {
  const Json config = training::read_config(options.config);
  const std::string file =
      options.output.empty()
          ? lock_file_of(options.config)
          : std::filesystem::absolute(options.output).lexically_normal().string();
  if (options.check) {
    freeze(config, file);
    print_fitted(format_text("nothing differs from {}\n", file));
    return kFine;
  }
  if (const std::string fault = fault_of(config, options, file); !fault.empty())
    throw tenon::IOError(fault);
  apply_unlocked(config);
  const auto [lock, left_out] = trust::make_lock(tenon::document(tenon::Document::loadable));
  for (const trust::Refusal& refusal : left_out) warn_left_out(refusal);
  tenon::state::write_file(file, trust::lock_document(lock).dump(2) + "\n");
  size_t libraries = 0;
  for (const trust::LockedPlugin& plugin : lock.plugins) libraries += plugin.libraries.size();
  print_fitted(format_text(
      "locked {} with {} and the providers of {} in {}\n",
      counted(count(lock.plugins.size()), "plugin"), counted(count(libraries), "linked file"),
      counted(count(lock.ops.size() + lock.modules.size() + lock.types.size()), "name"), file));
  return kFine;
}

}  // namespace

void define_lock(Commands& commands) {
  auto [command, options] = commands.add(
      lock_config, "lock",
      "Pin the plugins that a config can use, and their libraries, by hashes of their bytes",
      "  tenon lock digits.json            # writes tenon.lock beside it\n"
      "  tenon lock digits.json --check\n"
      "  tenon run digits.json --frozen\n"
      "The lock file also has the plugin that provides each op, module and type. With --frozen, or "
      "\"frozen\": \"tenon.lock\" in the config, what differs is refused, and plugins are mapped "
      "from private copies of the bytes that were compared.");
  command.argument(options.config, "CONFIG", "The config file");
  command.option("-o,--output", options.output, "FILE",
                 "The lock file; tenon.lock beside the config when left out");
  command.flag("--check", options.check,
               "Write nothing; end with 1 when something differs from the lock file");
}

}  // namespace cli
