// The progress line.
#include "progress.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <mutex>
#include <vector>

#include "format.hpp"
#include "terminal.hpp"
#include "text.hpp"

namespace cli {

namespace {

constexpr auto kPause = std::chrono::milliseconds(100);
constexpr int64_t kShortestBar = 10, kLongestBar = 30;
constexpr int64_t kPlainLines = 40;  // a long training prints so many epochs only

// Replaces the text of the line.
void redraw(const std::string& line) {
  std::fputs("\r\033[K", stderr);
  print(stderr, line);
  std::fflush(stderr);
}

std::string bar(double part, int64_t width, bool utf8) {
  const auto full = static_cast<int64_t>(part * static_cast<double>(width));
  std::string done, rest;
  for (int64_t i = 0; i < width; ++i) {
    if (i < full) {
      done += utf8 ? "━" : "#";
    } else {
      rest += utf8 ? "─" : "-";
    }
  }
  return paint(stderr, Style::green, done) + paint(stderr, Style::dim, rest);
}

}  // namespace

std::string metric_value(const std::string& name, double value) {
  return name == "accuracy" ? percent(value) : fixed(value, 4);
}

std::string metric_text(const std::string& name, double value) {
  return format_text("{} {}", name, metric_value(name, value));
}

std::string epoch_line(const Epoch& epoch, int64_t epochs) {
  const std::string last = std::to_string(epochs);
  std::string number = std::to_string(epoch.number);
  number.insert(0, last.size() - std::min(last.size(), number.size()), ' ');
  std::string text =
      format_text("epoch {}/{}  train loss {}", number, last, loss_text(epoch.train_loss));
  if (epoch.score) {
    if (epoch.score->loss)
      text += format_text("  {} loss {}", epoch.score->part, loss_text(*epoch.score->loss));
    for (const auto& metric : epoch.score->metrics) {
      if (metric.number) text += format_text("  {}", metric_text(metric.name, *metric.number));
    }
  }
  return text;
}

Progress::Progress(int64_t epochs, int64_t steps, int64_t samples, bool quiet)
    : epochs_(epochs),
      steps_(steps),
      samples_(samples),
      live_(!quiet && can_redraw(stderr)),
      plain_(!quiet && !can_redraw(stderr)),
      utf8_(shows_utf8()) {
  if (live_) thread_ = std::thread([this] { draw_until_finished(); });
}

Progress::~Progress() { finish(); }

void Progress::epoch_done(const Epoch& epoch) {
  epochs_done_.store(epoch.number, std::memory_order_relaxed);
  if (epoch.score) {
    std::string score;
    for (const auto& metric : epoch.score->metrics) {
      if (metric.number && score.empty()) score = metric_text(metric.name, *metric.number);
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    score_ = std::move(score);
  }
  const int64_t every = (epochs_ + kPlainLines - 1) / kPlainLines;
  const bool printed = epoch.number == 1 || epoch.number == epochs_ || epoch.number % every == 0;
  if (plain_ && printed) print(stderr, format_text("{}\n", epoch_line(epoch, epochs_)));
}

void Progress::finish() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    finished_ = true;
  }
  changed_.notify_one();
  thread_.join();
  redraw("");
}

void Progress::draw_until_finished() {
  std::unique_lock<std::mutex> lock(mutex_);
  // Short trainings end before anything is worth drawing.
  while (!changed_.wait_for(lock, kPause, [this] { return finished_; })) {
    lock.unlock();
    redraw(line());
    lock.lock();
  }
}

std::string Progress::line() const {
  const int64_t done = steps_done_.load(std::memory_order_relaxed);
  const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  const double part = static_cast<double>(done) / static_cast<double>(std::max<int64_t>(1, steps_));
  const double rate = part * static_cast<double>(samples_) / std::max(seconds, 1e-9);
  const int64_t epoch = std::min(epochs_, epochs_done_.load(std::memory_order_relaxed) + 1);

  const std::string head = format_text("epoch {}/{} ", epoch, epochs_);
  std::vector<std::string> parts = {format_text(" {} %", fixed(std::floor(100 * part), 0))};
  if (part > 0) {
    const long long left = std::llround(seconds * (1 - part) / part);
    char text[32];
    std::snprintf(text, sizeof text, "%lld:%02lld left", left / 60, left % 60);
    parts.emplace_back(text);
  }
  parts.push_back(format_text("{} samples/s", grouped(static_cast<int64_t>(rate))));
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!score_.empty()) parts.push_back(score_);
  }
  parts.push_back(format_text("loss {}", loss_text(loss_.load(std::memory_order_relaxed))));

  // On a narrow terminal the last parts give way to the bar.
  const int64_t width = terminal_width(stderr) - 1;
  const auto space = [&] { return width - display_width(head + join(parts, "  ")); };
  while (parts.size() > 1 && space() < kShortestBar) parts.pop_back();
  const std::string tail = join(parts, "  ");
  if (space() < kShortestBar) return leading(head + tail, std::max<int64_t>(0, width));
  return head + bar(part, std::min(kLongestBar, space()), utf8_) + tail;
}

}  // namespace cli
