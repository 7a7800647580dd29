// The program tenon-check, which `tenon check` becomes: the check, and in child processes the side of it
// that runs plugin code.
#include <string>
#include <vector>

#include "check_plugin.hpp"
#include "exit_code.hpp"
#include "options.hpp"
#include "program.hpp"
#include "worker.hpp"

namespace {

int run(const std::vector<std::string>& words) {
  const std::string mode = words.empty() ? "" : words.front();
  const std::vector<std::string> rest(words.begin() + (words.empty() ? 0 : 1), words.end());
  if (mode == "check") {
    const cli::CheckOptions options = cli::read_check_options(rest);
    cli::apply_session(options.session);
    return cli::check_plugin(options);
  }
  if (mode == "worker") {
    const cli::WorkerOptions options = cli::read_worker_options(rest);
    cli::apply_session(options.session);
    return cli::run_check_worker(options);
  }
  throw cli::UsageError("tenon-check is started by `tenon check`; see `tenon check --help`");
}

}  // namespace

int main(int count, char** arguments) {
  return cli::run_program(
      [=] { return run(std::vector<std::string>(arguments + 1, arguments + count)); });
}
