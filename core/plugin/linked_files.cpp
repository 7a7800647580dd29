// `ld.so --list`, read line by line.
#include "core/plugin/linked_files.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <filesystem>
#include <spawn.h>
#include <string_view>
#include <unistd.h>

#include <sys/auxv.h>
#include <sys/wait.h>

#include "core/base/environment.hpp"
#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "core/plugin/absolute_path.hpp"
#include "core/plugin/elf_notes.hpp"
#include "core/plugin/failure.hpp"

namespace tenon::core {

namespace {

[[noreturn]] void refuse(const std::string& path, std::string problem,
                         std::string remedy = "fix the file, or install what it links") {
  throw PluginError(
      make_failure(PluginStage::Open, "", path, std::move(problem), std::move(remedy)));
}

// The loader of this process, which is the one that will open the file.
std::string loader_of_process() {
  Dl_info loader{};
  const auto base = static_cast<uintptr_t>(::getauxval(AT_BASE));
  if (base == 0 || ::dladdr(reinterpret_cast<void*>(base), &loader) == 0) return {};
  return loader.dli_fname;
}

std::string_view trimmed(std::string_view text) { return trim_spaces(text, " \t\n"); }

// Descriptors of the child, of the copy and of the loader. The loader is started by its descriptor: where
// an emulator runs this process, a path that it can open may not be one of the kernel's.
constexpr int kCopy = 3, kLoader = 4;
constexpr const char* kCopyPath = "/proc/self/fd/3";
constexpr const char* kLoaderPath = "/proc/self/fd/4";

// Folders that the loader searches before the copy's run path: that one as it is for the file at
// `path`, because $ORIGIN of the copy is another folder.
std::string library_path(const SealedFile& copy, const std::string& path) {
  const char* const given = environment("LD_LIBRARY_PATH");
  std::string folders = given == nullptr ? "" : given;
  const LinkedLibraries linked = read_linked_libraries(copy, path);
  if (std::ranges::none_of(linked.run_path, is_by_origin)) return folders;
  for (const std::string& folder : linked.run_path) {
    const std::string place = expand_origin(folder, path);
    // It is a list to the loader as well.
    if (place.find_first_of(":;") != place.npos) {
      refuse(path,
             format_text("the folder {} of its run path has ':' or ';' in its name", quote(place)),
             "rename the folder");
    }
    folders += (folders.empty() ? "" : ":") + place;
  }
  return folders;
}

// Output of the loader for the copy of the file at `path`.
std::string run_loader(const std::string& loader, const SealedFile& copy, const std::string& path) {
  const std::string folders = library_path(copy, path);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    refuse(path, format_text("cannot make a pipe to the system's loader: {}", strerror(errno)));
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  // The last, which may take the places of the pipe's ends.
  ::posix_spawn_file_actions_addopen(&actions, kCopy, copy.path().c_str(), O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, kLoader, loader.c_str(), O_RDONLY, 0);
  std::array<std::string, 5> words = {loader, "--library-path", folders, "--list", kCopyPath};
  std::array<char*, 6> arguments{};
  std::ranges::transform(words, arguments.begin(), [](std::string& word) { return word.data(); });
  pid_t child = 0;
  const int fault =
      ::posix_spawn(&child, kLoaderPath, &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  std::string text;
  std::array<char, 4096> block;
  while (fault == 0) {
    const ssize_t got = ::read(ends[0], block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(block.data(), static_cast<size_t>(got));
  }
  ::close(ends[0]);
  if (fault != 0) {
    refuse(path,
           format_text("cannot run the system's loader {}: {}", quote(loader), strerror(fault)),
           "make the loader executable, or wait until the machine has room for another process");
  }
  int status = 0;
  pid_t ended = 0;
  while ((ended = ::waitpid(child, &status, 0)) < 0 && errno == EINTR) {
  }
  // The output may be incomplete.
  if (ended != child) {
    refuse(path, "how the system's loader ended, which lists its libraries, is not known",
           "do not ignore SIGCHLD in this process, nor wait for children that it did not start");
  }
  if (const std::string problem = loader_problem(text, status, path); !problem.empty())
    refuse(path, problem);
  return text;
}

}  // namespace

bool is_by_origin(const std::string& folder) { return folder.find("ORIGIN") != folder.npos; }

std::string expand_origin(std::string folder, const std::string& path) {
  const std::string origin = std::filesystem::path(absolute_path(path)).parent_path();
  for (const std::string_view word : {"${ORIGIN}", "$ORIGIN"}) {
    for (size_t at = 0; (at = folder.find(word, at)) != folder.npos; at += origin.size())
      folder.replace(at, word.size(), origin);
  }
  return folder;
}

std::string loader_problem(std::string text, int status, const std::string& path) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  if (const size_t at = text.find(kCopyPath); at != text.npos)
    text.replace(at, std::string_view(kCopyPath).size(), path);
  if (const std::string_view words = trimmed(text); !words.empty())
    return format_text("the system's loader says: {}", printable(words));
  if (WIFSIGNALED(status)) {
    return format_text("the system's loader printed nothing and ended by signal {}",
                       WTERMSIG(status));
  }
  return format_text("the system's loader printed nothing and ended with exit code {}",
                     WEXITSTATUS(status));
}

std::vector<LinkedFile> linked_files(const SealedFile& copy, const std::string& path) {
  const std::string loader = loader_of_process();
  if (loader.empty()) refuse(path, "this program has no loader that can list its libraries");
  const std::string text = run_loader(loader, copy, path);
  std::vector<LinkedFile> files;
  for (std::string_view rest = text; !rest.empty();) {
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
