// Separation of a process that runs a plugin from all others.
#include "sandbox.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fcntl.h>
#include <fstream>
#include <sched.h>
#include <string>
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
  protect_watchers(separate);
  return separate;
}

}  // namespace cli
