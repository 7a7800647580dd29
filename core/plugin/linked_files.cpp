// `ld.so --list`, read line by line.
#include "core/plugin/linked_files.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <string_view>
#include <unistd.h>

#include <sys/auxv.h>
#include <sys/wait.h>

#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "core/plugin/failure.hpp"

namespace tenon::core {

namespace {

[[noreturn]] void refuse(const std::string& path, std::string problem) {
  PluginFailure failure;
  failure.stage = PluginStage::Open;
  failure.path = path;
  failure.problem = std::move(problem);
  failure.remedy = "fix the file, or install what it links";
  throw PluginError(failure);
}

// The loader of this process, which is the one that will open the file.
std::string loader_of_process() {
  Dl_info loader{};
  const auto base = static_cast<uintptr_t>(::getauxval(AT_BASE));
  if (base == 0 || ::dladdr(reinterpret_cast<void*>(base), &loader) == 0) return {};
  return loader.dli_fname;
}

struct Output {
  std::string text;
  bool succeeded = false;
};

Output run_loader(const std::string& loader, const std::string& path) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return {strerror(errno), false};
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  std::array<std::string, 3> words = {loader, "--list", path};
  std::array<char*, 4> arguments = {words[0].data(), words[1].data(), words[2].data(), nullptr};
  pid_t child = 0;
  const int fault =
      ::posix_spawn(&child, loader.c_str(), &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  Output output;
  std::array<char, 4096> block;
  while (fault == 0) {
    const ssize_t got = ::read(ends[0], block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    output.text.append(block.data(), static_cast<size_t>(got));
  }
  ::close(ends[0]);
  if (fault != 0) return {strerror(fault), false};
  int status = 0;
  pid_t ended = 0;
  while ((ended = ::waitpid(child, &status, 0)) < 0 && errno == EINTR) {
  }
  // Where SIGCHLD is ignored there is no status: what was printed may be a part.
  if (ended != child) return {"how the child ended is not known; do not ignore SIGCHLD", false};
  output.succeeded = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return output;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\n";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

}  // namespace

std::vector<LinkedFile> linked_files(const std::string& path) {
  const std::string loader = loader_of_process();
  if (loader.empty()) refuse(path, "this program has no loader that can list its libraries");
  const Output output = run_loader(loader, path);
  if (!output.succeeded)
    refuse(path, format_text("the system's loader says: {}", printable(trimmed(output.text))));
  std::vector<LinkedFile> files;
  for (std::string_view rest = output.text; !rest.empty();) {
    const size_t end = rest.find('\n');
    const std::string_view line = trimmed(rest.substr(0, end));
    rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
    // "libm.so.6 => /lib/libm.so.6 (0x00007f...)", or "/opt/libx.so (0x...)" for what is linked by
    // its path, the loader among them; the kernel's own has no path.
    constexpr std::string_view kArrow = " => ";
    const size_t arrow = line.find(kArrow), address = line.rfind(" (0x");
    if (address == line.npos) continue;
    if (arrow != line.npos) {
      const size_t begin = arrow + kArrow.size();
      files.push_back({std::string(line.substr(0, arrow)),
                       std::string(trimmed(line.substr(begin, address - begin)))});
    } else if (const std::string file(line.substr(0, address)); file.find('/') != file.npos) {
      files.push_back({file, file});
    }
  }
  std::ranges::sort(files, {}, &LinkedFile::name);
  return files;
}

}  // namespace tenon::core
