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

struct Output {
  std::string text;
  bool succeeded = false;
};

// The copy and the loader in the child; other descriptors of this process are closed there.
constexpr int kCopy = 3, kLoader = 4;
constexpr const char* kCopyPath = "/proc/self/fd/3";
// Opened and run by its descriptor: under an emulator a path that can be opened may be one that only
// the emulator knows.
constexpr const char* kLoaderPath = "/proc/self/fd/4";

// Where the loader looks before the copy's run path: that one as it is for the file at `path`, because
// $ORIGIN of the copy is another folder.
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

Output run_loader(const std::string& loader, const SealedFile& copy, const std::string& folders) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return {strerror(errno), false};
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  // The last, which may take the place of the pipe's ends.
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
  if (!output.succeeded && trimmed(output.text).empty()) {
    output.text = WIFSIGNALED(status)
                      ? format_text("nothing; it ended by signal {}", WTERMSIG(status))
                      : format_text("nothing; it ended with exit code {}", WEXITSTATUS(status));
  }
  return output;
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

std::vector<LinkedFile> linked_files(const SealedFile& copy, const std::string& path) {
  const std::string loader = loader_of_process();
  if (loader.empty()) refuse(path, "this program has no loader that can list its libraries");
  Output output = run_loader(loader, copy, library_path(copy, path));
  if (!output.succeeded) {
    if (const size_t at = output.text.find(kCopyPath); at != output.text.npos)
      output.text.replace(at, std::string_view(kCopyPath).size(), path);
    refuse(path, format_text("the system's loader says: {}", printable(trimmed(output.text))));
  }
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
