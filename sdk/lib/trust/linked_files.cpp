// `ld.so --list`, read line by line.
#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <fcntl.h>
#include <filesystem>
#include <string_view>

#include <sys/auxv.h>
#include <sys/wait.h>

#include <tenon/text.hpp>
#include <tenon/trust/child_process.hpp>
#include <tenon/trust/linked_files.hpp>
#include <tenon/trust/refusal.hpp>

#include "file.hpp"
#include "lib/base/format.hpp"
#include "lib/base/text.hpp"

TENON_NAMESPACE_BEGIN

namespace trust {

namespace {

using lib::format_text;
using lib::quote;

[[noreturn]] void refuse(const std::string& path, std::string problem,
                         std::string remedy = "fix the file, or install what it links") {
  Refusal refusal;
  refusal.stage = TENON_STAGE_OPEN;
  refusal.path = path;
  refusal.problem = std::move(problem);
  refusal.remedy = std::move(remedy);
  throw RefusalError(std::move(refusal));
}

// The loader of this process, which is the one that will open the file.
std::string loader_of_process() {
  Dl_info loader{};
  const auto base = static_cast<uintptr_t>(::getauxval(AT_BASE));
  if (base == 0 || ::dladdr(reinterpret_cast<void*>(base), &loader) == 0) return {};
  return loader.dli_fname;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\n";
  const size_t begin = text.find_first_not_of(kSpaces);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpaces) + 1 - begin);
}

// Descriptors of the child, of the copy and of the loader. The loader is started by its descriptor: where
// an emulator runs this process, a path that it can open may not be one of the kernel's.
constexpr int kCopy = 3, kLoader = 4;
constexpr const char* kCopyPath = "/proc/self/fd/3";

bool is_by_origin(const std::string& folder) { return folder.find("ORIGIN") != folder.npos; }

// Folders that the loader searches before the copy's run path: that one as it is for the file at
// its place, because $ORIGIN of the copy is another folder.
std::string library_path(const LinkingFile& file) {
  const char* const given = ::secure_getenv("LD_LIBRARY_PATH");
  std::string folders = given == nullptr ? "" : given;
  if (std::none_of(file.run_path.begin(), file.run_path.end(), is_by_origin)) return folders;
  for (const std::string& folder : file.run_path) {
    const std::string place = expand_origin(folder, file.path);
    // It is a list to the loader as well.
    if (place.find_first_of(":;") != place.npos) {
      refuse(file.path,
             format_text("the folder {} of its run path has ':' or ';' in its name", quote(place)),
             "rename the folder");
    }
    folders += (folders.empty() ? "" : ":") + place;
  }
  return folders;
}

std::string run_loader(const std::string& loader, const LinkingFile& file) {
  const Descriptor program(::open(loader.c_str(), O_RDONLY | O_CLOEXEC));
  const Descriptor copy = sealed_copy(file.bytes);
  ChildCommand command;
  command.program = format_text("/proc/self/fd/{}", kLoader);
  command.arguments = {loader, "--library-path", library_path(file), "--list", kCopyPath};
  command.descriptors = {{kCopy, copy.number()}, {kLoader, program.number()}};
  try {
    ChildProcess child(command);
    child.wait();
    // The output may be incomplete.
    if (!child.status()) {
      refuse(file.path, "how the system's loader ended, which lists its libraries, is not known",
             "do not ignore SIGCHLD in this process, nor wait for children that it did not start");
    }
    if (const std::string problem = loader_problem(child.output(), *child.status(), file.path);
        !problem.empty())
      refuse(file.path, problem);
    return child.output();
  } catch (const IOError& error) {
    refuse(file.path,
           format_text("cannot run the system's loader {}: {}", quote(loader), error.what()),
           "make the loader executable, or wait until the machine has room for another process");
  }
}

// "libm.so.6 => /lib/libm.so.6 (0x00007f...)", or "/opt/libx.so (0x...)" for what is linked by its path,
// the loader among them; the kernel's own has no path.
void read_line(std::string_view line, std::vector<LinkedFile>& files) {
  constexpr std::string_view kArrow = " => ";
  const size_t arrow = line.find(kArrow), address = line.rfind(" (0x");
  if (address == line.npos) return;
  if (arrow != line.npos) {
    const size_t begin = arrow + kArrow.size();
    files.push_back({std::string(line.substr(0, arrow)),
                     std::string(trimmed(line.substr(begin, address - begin)))});
  } else if (const std::string file(line.substr(0, address)); file.find('/') != file.npos) {
    files.push_back({file, file});
  }
}

}  // namespace

std::string expand_origin(std::string folder, const std::string& path) {
  const std::string origin =
      std::filesystem::absolute(path).lexically_normal().parent_path().string();
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
  return format_text("the system's loader printed nothing and ended {} {}",
                     WIFSIGNALED(status) ? "by" : "with", end_text(status));
}

std::vector<LinkedFile> linked_files(const LinkingFile& file) {
  const std::string loader = loader_of_process();
  if (loader.empty()) refuse(file.path, "this program has no loader that can list its libraries");
  const std::string text = run_loader(loader, file);
  std::vector<LinkedFile> files;
  for (std::string_view rest = text; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    read_line(trimmed(rest.substr(0, end)), files);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  std::sort(files.begin(), files.end(),
            [](const LinkedFile& a, const LinkedFile& b) { return a.name < b.name; });
  return files;
}

}  // namespace trust

TENON_NAMESPACE_END
