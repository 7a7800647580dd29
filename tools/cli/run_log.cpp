// Lines with their times.
#include "run_log.hpp"

#include <cerrno>
#include <cstring>
#include <ctime>
#include <sstream>

#include <tenon/error.hpp>

#include "format.hpp"

namespace cli {

RunLog::RunLog(const std::string& path) {
  if (path.empty()) return;
  file_.open(path, std::ios::app);
  if (!file_)
    throw tenon::IOError(format_text("cannot write '{}': {}", path, std::strerror(errno)));
}

void RunLog::add(const std::string& text) {
  if (!file_.is_open()) return;
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char stamp[32];
  std::strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%SZ ", &utc);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) file_ << stamp << line << '\n';
  file_.flush();
}

}  // namespace cli
