// The process's log: one logger for each source, all writing to standard error.
#pragma once

#include <optional>
#include <string_view>

namespace tenon::core {

enum class LogLevel : int { trace = 0, debug = 1, info = 2, warning = 3, error = 4, off = 5 };

// Lines below this level are dropped: TENON_LOG (trace, debug, info, warning, error, off), else
// warning.
LogLevel log_level() noexcept;
// The level of a name; "warn" and "err" are understood too.
std::optional<LogLevel> parse_log_level(std::string_view text) noexcept;

// To ask before an expensive message is built.
inline bool log_enabled(LogLevel level) noexcept { return level >= log_level(); }

// Writes `12:34:56.789 warning blas: message`, coloured on a terminal. `source` names the logger,
// most often the plugin; empty: "tenon". A failure to write is ignored. [any-thread]
void log(LogLevel level, std::string_view source, std::string_view message) noexcept;

// Takes or returns the lock around a fork.
void hold_log(bool hold) noexcept;

}  // namespace tenon::core
