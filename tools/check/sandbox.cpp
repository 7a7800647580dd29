// Separation of a process that runs a plugin from all others.
#include "sandbox.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sched.h>
#include <string>
#include <system_error>
#include <unistd.h>
#include <vector>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "format.hpp"

namespace cli {

namespace {

void write_file(const char* path, const char* text, int length) {
  const int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  const ssize_t written = write(file, text, static_cast<size_t>(length));
  static_cast<void>(written);
  close(file);
}

// A namespace of processes: directly, or through one of users, in which the user stays who it is.
bool separate_processes() {
  if (unshare(CLONE_NEWPID) == 0) return true;
  const auto user = static_cast<long>(getuid()), group = static_cast<long>(getgid());
  if (unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) return false;
  char line[64];
  write_file("/proc/self/uid_map", line, std::snprintf(line, sizeof line, "%ld %ld 1", user, user));
  write_file("/proc/self/setgroups", "deny", 4);
  write_file("/proc/self/gid_map", line,
             std::snprintf(line, sizeof line, "%ld %ld 1", group, group));
  return true;
}

// Waits for `child`, then ends.
[[noreturn]] void watch(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  _exit(0);
}

// Reaps children that ended; returns whether `child` was one, with its status. Does not wait.
bool has_ended(pid_t child, int& status) {
  for (;;) {
    int how = 0;
    const pid_t ended = waitpid(-1, &how, WNOHANG);
    if (ended <= 0) return false;
    if (ended != child) continue;
    status = how;
    return true;
  }
}

int parent_of(int process) {
  std::ifstream file(format_text("/proc/{}/stat", process));
  std::string text;
  std::getline(file, text);
  const size_t name_end = text.rfind(')');  // a name may have spaces and parentheses
  int parent = 0;
  if (name_end == std::string::npos ||
      std::sscanf(text.c_str() + name_end + 1, " %*c %d", &parent) != 1)
    return 0;
  return parent;
}

std::vector<pid_t> children() {
  std::vector<pid_t> found;
  const pid_t self = getpid();
  if (std::ifstream file(format_text("/proc/self/task/{}/children", self)); file) {
    for (pid_t child = 0; file >> child;) found.push_back(child);
    return found;
  }
  // Some systems have no such list.
  std::error_code error;
  std::filesystem::directory_iterator entry("/proc", error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const pid_t process = std::atoi(entry->path().filename().c_str());  // 0 for other names
    if (process > 0 && parent_of(process) == self) found.push_back(process);
  }
  return found;
}

// Ends all children, and theirs, which become children of this process as their parents end.
void end_descendants() {
  constexpr int most_ms = 5000;
  for (int look = 0; look < most_ms; ++look) {
    for (const pid_t child : children()) kill(child, SIGKILL);
    for (pid_t ended = 1; ended > 0;) {
      ended = waitpid(-1, nullptr, WNOHANG);
      if (ended < 0 && errno == ECHILD) return;
    }
    usleep(1000);
  }
}

// Waits for `child`, or for the end of its parent, writes the status of the child to `report`, and ends with
// all that the child left, for which this process is the parent.
[[noreturn]] void watch_all(pid_t child, int report, bool separate, const sigset_t& signals) {
  signal(SIGPIPE, SIG_IGN);  // the reader of the status may be gone
  int status = 0;
  bool ended = false;
  while (!ended) {
    const int received = sigwaitinfo(&signals, nullptr);
    ended = has_ended(child, status);
    if (received == SIGTERM) break;
  }
  if (ended) {
    const ssize_t written = write(report, &status, sizeof status);
    static_cast<void>(written);
  }
  if (!separate) end_descendants();  // else the system does, as this is the init of the namespace
  _exit(0);
}

// Processes that the caller must not signal, as arguments of kill: its ancestors, their groups, all
// processes. In a separate namespace the first process is the only ancestor that has a number.
std::vector<uint32_t> watchers(bool separate) {
  std::vector<uint32_t> list{1, 0xffffffffu};
  const auto add = [&](int number) { list.push_back(static_cast<uint32_t>(number)); };
  constexpr int most = 40;
  int process = getppid();
  for (int i = 0; i < most && process > 1; ++i) {
    add(process);
    if (const int group = getpgid(process); group > 1) add(-group);
    process = separate ? 0 : parent_of(process);
  }
  return list;
}

// A system call that reaches another process, and which of its arguments names that.
struct Reaching {
  int number;
  uint32_t argument;
};
constexpr std::array kReaching{Reaching{SYS_kill, 0},
                               Reaching{SYS_tkill, 0},
                               Reaching{SYS_tgkill, 0},
                               Reaching{SYS_tgkill, 1},
                               Reaching{SYS_rt_sigqueueinfo, 0},
                               Reaching{SYS_rt_tgsigqueueinfo, 0},
                               Reaching{SYS_pidfd_open, 0},
                               Reaching{SYS_process_vm_writev, 0},
                               Reaching{SYS_prlimit64, 0},
                               Reaching{SYS_ptrace, 1}};

#if defined(__x86_64__)
constexpr uint32_t kMachine = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kMachine = AUDIT_ARCH_AARCH64;
#else
constexpr uint32_t kMachine = 0;  // not compared
#endif

// Signals to the processes that watch, or to all, and other ways to end or change them, end the caller
// with SIGSYS; so do system calls of another machine, whose numbers mean something else.
void protect_watchers(bool separate) {
  const std::vector<uint32_t> watched = watchers(separate);
  std::vector<sock_filter> program;
  const auto load = [&](size_t offset) {
    program.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset)));
  };
  // The next `count` instructions where the value is another one.
  const auto skip_unless = [&](uint32_t value, size_t count) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, static_cast<uint8_t>(count)));
  };
  const auto end = [&](uint32_t how) { program.push_back(BPF_STMT(BPF_RET | BPF_K, how)); };
  if (kMachine != 0) {
    load(offsetof(seccomp_data, arch));
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kMachine, 1, 0));
    end(SECCOMP_RET_KILL_PROCESS);
  }
  for (const Reaching& call : kReaching) {
    load(offsetof(seccomp_data, nr));
    skip_unless(static_cast<uint32_t>(call.number), 1 + 2 * watched.size());
    load(offsetof(seccomp_data, args) + sizeof(uint64_t) * call.argument);
    for (const uint32_t process : watched) {
      skip_unless(process, 1);
      end(SECCOMP_RET_KILL_PROCESS);
    }
  }
  end(SECCOMP_RET_ALLOW);
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0);
}

}  // namespace

bool enter_sandbox(int report) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  signal(SIGCHLD, SIG_DFL);  // ignored, it would make the system wait for children
  const bool separate = separate_processes();
  const auto fork_once = [] {
    const pid_t child = fork();
    if (child < 0) _exit(1);
    return child;
  };
  // Its writing end is open as long as the caller runs: in a namespace no process knows its parent
  // outside.
  int caller[2];
  if (pipe2(caller, O_CLOEXEC | O_NONBLOCK) != 0) _exit(1);
  if (const pid_t child = fork_once(); child > 0) watch(child);
  close(caller[1]);
  // In a namespace this process is its init, which cannot be signalled from inside.
  sigset_t signals, before;
  sigemptyset(&signals);
  sigaddset(&signals, SIGCHLD);
  sigaddset(&signals, SIGTERM);
  sigprocmask(SIG_BLOCK, &signals, &before);
  if (!separate) {
    setsid();  // it outlives the group of its parent, to end the processes that are left
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  }
  prctl(PR_SET_PDEATHSIG, separate ? SIGKILL : SIGTERM);
  char none;
  if (read(caller[0], &none, 1) == 0) _exit(1);  // the caller ended before that
  close(caller[0]);
  const pid_t watcher = getpid();
  if (const pid_t child = fork_once(); child > 0) watch_all(child, report, separate, signals);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != watcher) _exit(1);  // it ended before that
  sigprocmask(SIG_SETMASK, &before, nullptr);
  close(report);
  setsid();
  protect_watchers(separate);
  return separate;
}

}  // namespace cli
