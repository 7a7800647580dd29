// Names of processes from /proc.
#include "process_name.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <mutex>
#include <new>
#include <pthread.h>
#include <string_view>
#include <unistd.h>

#include "folder_file.hpp"
#include "lib/base/format.hpp"

TENON_NAMESPACE_BEGIN

namespace trust {

namespace {

// A short link's text; "" where it cannot be read.
std::string link_text(const char* path) {
  char text[64];
  const ssize_t length = ::readlink(path, text, sizeof text);
  return {text, static_cast<size_t>(std::max<ssize_t>(length, 0))};
}

// When a process began, in ticks since the machine did; empty when there is none. It is read of its first
// thread, which began then: an emulator may answer for the process, with its own idea of it, and with
// the parent's after a fork.
std::string start_of(const std::string& process) {
  const std::string stat =
      read_small(AT_FDCWD, lib::format_text("/proc/{0}/task/{0}/stat", process), 2048);
  std::string_view rest = stat;
  rest.remove_prefix(std::min(rest.rfind(')') + 1, rest.size()));  // the name may hold anything
  for (int field = 2; !rest.empty(); ++field) {
    const size_t begin = rest.find_first_not_of(' ');
    if (begin == rest.npos) break;
    rest.remove_prefix(begin);
    const size_t end = std::min(rest.find(' '), rest.size());
    if (field == 21) return std::string(rest.substr(0, end));
    rest.remove_prefix(end);
  }
  return {};
}

ProcessName read_own() {
  ProcessName name;
  name.boot = read_small(AT_FDCWD, "/proc/sys/kernel/random/boot_id", 64);
  name.boot.resize(std::min(name.boot.find('\n'), name.boot.size()));
  name.space = link_text("/proc/self/ns/pid");
  name.start = start_of(link_text("/proc/self"));
  name.number = ::getpid();
  return name;
}

// The name of this process, read once. In the child of a fork the lock may be another thread's, which is
// not there: it gets a new lock and a new name.
class OwnName {
 public:
  static OwnName& get() {
    static auto& name = *new OwnName;
    return name;
  }
  ProcessName read() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (name_ == nullptr || name_->number != ::getpid()) name_ = new ProcessName(read_own());
    return *name_;
  }

 private:
  OwnName() {
    ::pthread_atfork(nullptr, nullptr, [] {
      new (&get().mutex_) std::mutex;
      get().name_ = nullptr;
    });
  }
  std::mutex mutex_;
  const ProcessName* name_ = nullptr;  // kept for good: another thread may have been copying it
};

}  // namespace

ProcessName ProcessName::own() { return OwnName::get().read(); }

bool ProcessName::is_alive() const {
  const ProcessName self = own();
  if (boot != self.boot) return false;
  // The numbers of another container say nothing here: its processes may be alive.
  if (space != self.space) return true;
  return start_of(std::to_string(number)) == start;
}

bool is_number_free(int number) { return ::kill(number, 0) != 0 && errno == ESRCH; }

}  // namespace trust

TENON_NAMESPACE_END
