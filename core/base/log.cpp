// The only home of spdlog. Its registry is left alone: that one may belong to the application.
#include "core/base/log.hpp"

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>

#include "core/base/environment.hpp"
#include "core/base/text.hpp"

namespace tenon::core {

namespace {

constexpr std::array<std::string_view, 6> kLevelNames = {"trace",   "debug", "info",
                                                         "warning", "error", "off"};

LogLevel first_level() noexcept {
  const char* text = environment("TENON_LOG");
  return text == nullptr ? LogLevel::warning : parse_log_level(text).value_or(LogLevel::warning);
}

// Both number their levels alike, up to that of errors.
static_assert(static_cast<int>(LogLevel::trace) == SPDLOG_LEVEL_TRACE);
static_assert(static_cast<int>(LogLevel::error) == SPDLOG_LEVEL_ERROR);

class Loggers {
 public:
  Loggers() : sink_(std::make_shared<spdlog::sinks::stderr_color_sink_mt>()) {
    sink_->set_formatter(std::make_unique<spdlog::pattern_formatter>("%H:%M:%S.%e %^%l%$ %n: %v"));
  }

  // One lock over all of it, so that a fork finds the sink's own lock free when it holds this one.
  void write(LogLevel level, std::string_view source, std::string_view message) {
    const std::lock_guard lock(mutex_);
    of(source).log(static_cast<spdlog::level::level_enum>(level),
                   spdlog::string_view_t(message.data(), message.size()));
  }
  void hold(bool hold) noexcept { hold ? mutex_.lock() : mutex_.unlock(); }

 private:
  spdlog::logger& of(std::string_view source) {
    if (const auto found = loggers_.find(source); found != loggers_.end()) return *found->second;
    std::string name(source);
    auto logger = std::make_unique<spdlog::logger>(name, sink_);
    logger->set_level(spdlog::level::trace);  // the level is judged before a line comes here
    logger->flush_on(spdlog::level::trace);
    return *loggers_.emplace(std::move(name), std::move(logger)).first->second;
  }

  std::mutex mutex_;
  std::shared_ptr<spdlog::sinks::sink> sink_;
  std::map<std::string, std::unique_ptr<spdlog::logger>, std::less<>> loggers_;
};

Loggers& loggers() {
  static auto* const all = new Loggers;  // never destroyed: static destructors may log
  return *all;
}

}  // namespace

std::optional<LogLevel> parse_log_level(std::string_view text) noexcept {
  for (size_t i = 0; i < kLevelNames.size(); ++i) {
    if (text == kLevelNames[i]) return static_cast<LogLevel>(i);
  }
  if (text == "warn") return LogLevel::warning;
  if (text == "err") return LogLevel::error;
  return std::nullopt;
}

LogLevel log_level() noexcept {
  static const LogLevel level = first_level();
  return level;
}

void log(LogLevel level, std::string_view source, std::string_view message) noexcept {
  if (level < LogLevel::trace || level >= LogLevel::off || !log_enabled(level)) return;
  try {
    loggers().write(level, source.empty() ? std::string_view("tenon") : source, printable(message));
  } catch (...) {
  }
}

void hold_log(bool hold) noexcept { loggers().hold(hold); }

}  // namespace tenon::core
