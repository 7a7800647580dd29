// What separates a process that runs a plugin from all others.
#include "sandbox.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

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

// Waits for `child`, and for whatever it leaves to this process, then ends as `report` says.
[[noreturn]] void watch(pid_t child, int report) {
  for (;;) {
    int status = 0;
    const pid_t ended = waitpid(-1, &status, 0);
    if (ended < 0 && errno == EINTR) continue;
    if (ended >= 0 && ended != child) continue;
    if (report >= 0) {
      const ssize_t written = write(report, &status, sizeof status);
      static_cast<void>(written);
    }
    _exit(0);
  }
}

// Signals to the processes that watch, or to all, and tracing them, end the caller with SIGSYS.
void protect_watchers(pid_t parent) {
  const auto first = static_cast<uint32_t>(parent);
  constexpr auto number = static_cast<uint32_t>(offsetof(seccomp_data, nr));
  constexpr auto argument = [](int i) {
    return static_cast<uint32_t>(offsetof(seccomp_data, args) + 8 * static_cast<size_t>(i));
  };
  const std::array program{
      sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, number),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_kill, 4, 0),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_tgkill, 3, 0),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_tkill, 2, 0),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ptrace, 3, 0),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JA, 6, 0, 0),
      sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument(0)),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JA, 1, 0, 0),
      sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument(1)),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, first, 3, 0),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 1, 2, 0),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0xffffffffu, 1, 0),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
  };
  const sock_fprog filter{static_cast<unsigned short>(program.size()),
                          const_cast<sock_filter*>(program.data())};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0);
}

}  // namespace

bool enter_sandbox(int report) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const bool separate = separate_processes();
  // With a namespace the first child is its init, which cannot be signalled from inside.
  const int levels = separate ? 2 : 1;
  for (int level = 0; level < levels; ++level) {
    const pid_t child = fork();
    if (child < 0) _exit(1);
    const bool last = level + 1 == levels;
    if (child > 0) watch(child, last ? report : -1);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
  }
  close(report);
  setsid();
  protect_watchers(getppid());
  return separate;
}

}  // namespace cli
