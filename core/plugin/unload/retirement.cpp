// Withdrawn at once, drained in its own time, unmapped where that is safe.
#include "core/plugin/unload/retirement.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/autograd/graph/leak_tracking.hpp"
#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/call/running_calls.hpp"

namespace tenon::core {

namespace {

using Clock = std::chrono::steady_clock;

// Between two looks; calls end within microseconds, holders within seconds.
void pause(int look) {
  std::this_thread::sleep_for(std::chrono::microseconds(std::min(50 << std::min(look, 6), 2000)));
}

}  // namespace

const char* retired_state_text(RetiredPlugin::State state) noexcept {
  static constexpr std::array texts{"draining", "drained", "unmapped"};
  return texts[static_cast<size_t>(state)];
}

std::string holders_text(const std::array<int64_t, kHolders>& holders) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < kHolders; ++i) {
    if (holders[i] != 0)
      parts.push_back(format_text("{} x {}", holders[i], holder_text(static_cast<Holder>(i))));
  }
  return join(parts, ", ");
}

RetiredPlugin RetiredCode::report() const {
  RetiredPlugin report;
  report.id = id;
  report.path = path;
  report.generation = generation;
  report.kept_by = verdict.reasons;
  if (step_ > Step::Holders) report.fault = fault_;
  if (step_ != Step::Done) {
    report.holders = loaded.code->holders();
    report.recorded = recorded_by(*loaded.code);
    if (report.holders[static_cast<size_t>(Holder::Type)] != 0)
      report.kept_by.emplace_back(kKeptByTypes);
  } else {
    report.state = unmapped_ ? RetiredPlugin::State::Unmapped : RetiredPlugin::State::Drained;
    if (!unmapped_ && verdict.can_unmap())
      report.kept_by.emplace_back("something else has the file open");
  }
  return report;
}

bool RetiredCode::has_settled(UnloadChoice choice) const {
  if (step_ != Step::Holders) return step_ == Step::Done;
  if (choice == UnloadChoice::Refuse) return true;
  // Tensor types stay as long as the process.
  const auto holders = loaded.code->holders();
  for (size_t i = 0; i < kHolders; ++i) {
    if (i != static_cast<size_t>(Holder::Type) && holders[i] != 0) return false;
  }
  return holders[static_cast<size_t>(Holder::Type)] != 0;
}

void Retirement::add(std::shared_ptr<RetiredCode> code) {
  code->mark_ = mark_running_calls();
  const Lock lock(mutex_);
  codes_.push_back(std::move(code));
}

// One look at one generation. What a plugin has registered itself, such as hooks for all modules, goes
// with its shutdown, which comes when nothing else is left.
void Retirement::advance(RetiredCode& code) {
  using Step = RetiredCode::Step;
  if (code.step_ == Step::Calls && have_ended(code.mark_)) code.step_ = Step::Holders;
  if (code.step_ == Step::Holders) {
    const auto holders = code.loaded.code->holders();
    const auto own = static_cast<size_t>(Holder::Hook);
    for (size_t i = 0; i < kHolders; ++i) {
      if (i != own && holders[i] != 0) return;
    }
    if (!std::exchange(code.shut_down_, true)) code.fault_ = code.loaded.shutdown();
    if (code.loaded.code->is_held()) return;
    code.mark_ = mark_running_calls();
    code.step_ = Step::LastCalls;
  }
  if (code.step_ != Step::LastCalls || !have_ended(code.mark_)) return;
  registrar_.forget(*code.loaded.code);
  code.withdrawn.reset();
  if (code.verdict.can_unmap()) code.unmapped_ = code.loaded.unmap();
  code.step_ = Step::Done;
}

void Retirement::sweep() {
  Lock lock(mutex_);
  if (codes_.empty() || sweeper_ != std::thread::id()) return;
  const std::vector<std::shared_ptr<RetiredCode>> codes = codes_;
  sweeper_ = std::this_thread::get_id();
  lock.unlock();
  const auto end = [&] {
    lock.lock();
    sweeper_ = {};
    std::erase_if(codes_, [](const auto& one) { return one->step_ == RetiredCode::Step::Done; });
    swept_.notify_all();
  };
  try {
    for (const auto& one : codes) advance(*one);
  } catch (...) {
    end();
    throw;
  }
  end();
}

void Retirement::wait_for_sweep(Lock& lock) {
  const std::thread::id self = std::this_thread::get_id();
  swept_.wait(lock, [&] { return sweeper_ == std::thread::id() || sweeper_ == self; });
}

RetiredPlugin Retirement::wait(const RetiredCode& code, UnloadChoice choice, int64_t timeout_ms) {
  const auto begin = Clock::now();
  for (int look = 0;; ++look) {
    sweep();
    {
      Lock lock(mutex_);
      wait_for_sweep(lock);
      const bool late =
          timeout_ms >= 0 && Clock::now() - begin >= std::chrono::milliseconds(timeout_ms);
      if (choice == UnloadChoice::Force || late || code.has_settled(choice)) return code.report();
    }
    pause(look);
  }
}

void Retirement::limit() {
  constexpr size_t kMost = 64;
  constexpr auto kLongest = std::chrono::milliseconds(200);
  const auto begin = Clock::now();
  for (int look = 0; !is_in_call() && Clock::now() - begin < kLongest; ++look) {
    sweep();
    {
      const Lock lock(mutex_);
      if (std::ranges::count_if(codes_, [](const auto& one) {
            return one->step_ != RetiredCode::Step::Holders;
          }) < static_cast<int64_t>(kMost))
        return;
    }
    pause(look);
  }
}

std::vector<RetiredPlugin> Retirement::reports() {
  sweep();
  Lock lock(mutex_);
  wait_for_sweep(lock);
  std::vector<RetiredPlugin> reports;
  for (const auto& one : codes_) reports.push_back(one->report());
  return reports;
}

void Retirement::forget_threads() {
  new (&swept_) std::condition_variable;  // it may count waiting threads of the parent
  if (sweeper_ != std::this_thread::get_id()) sweeper_ = {};
}

}  // namespace tenon::core
