// Reading, and looking before writing.
#include <filesystem>
#include <unistd.h>

#include <sys/stat.h>

#include <tenon/training/files.hpp>

#include "lib/base/format.hpp"
#include "lib/base/input_file.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

std::string read_file(const std::string& path, int64_t most) { return lib::read_file(path, most); }

int64_t file_length(const std::string& path) { return lib::file_length(path); }

std::string output_fault(const std::string& path) {
  const std::string start = lib::format_text("cannot write '{}': ", path);
  struct stat facts {};
  // The writer replaces the file that links lead to, and follows none that another user made.
  std::filesystem::path target = path;
  const bool exists_as_file = stat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode);
  for (int links = 0; lstat(target.c_str(), &facts) == 0 && S_ISLNK(facts.st_mode); ++links) {
    if (links == 40) return lib::format_text("{}too many symbolic links", start);
    const std::filesystem::path own =
        target.has_parent_path() ? target.parent_path() : std::filesystem::path(".");
    const uid_t owner = facts.st_uid;
    if (owner != geteuid() && owner != 0 &&
        (stat(own.c_str(), &facts) != 0 || facts.st_uid != owner))
      return lib::format_text("{}it is a symbolic link that another user made", start);
    std::error_code code;
    target = own / std::filesystem::read_symlink(target, code);
    if (code) break;
  }
  // A device, such as the terminal behind /dev/stdout, is opened by the name given.
  if (!exists_as_file && stat(path.c_str(), &facts) == 0) target = path;
  std::string folder = target.parent_path();
  if (folder.empty()) folder = ".";
  if (stat(folder.c_str(), &facts) != 0 || !S_ISDIR(facts.st_mode))
    return lib::format_text("{}'{}' is not an existing folder; create it", start, folder);
  const bool exists = stat(path.c_str(), &facts) == 0;
  if (exists && S_ISDIR(facts.st_mode)) return lib::format_text("{}it is a folder", start);
  if (exists && S_ISFIFO(facts.st_mode) && path.rfind("/dev/", 0) != 0 &&
      path.rfind("/proc/", 0) != 0)
    return lib::format_text("{}it is a named pipe; write to a file, or to /dev/stdout", start);
  if (exists && access(path.c_str(), W_OK) != 0)
    return lib::format_text("{}it is read-only", start);
  // A device is written to in place, a file is replaced.
  if ((!exists || S_ISREG(facts.st_mode)) && access(folder.c_str(), W_OK) != 0)
    return lib::format_text("{}the folder '{}' is read-only", start, folder);
  return "";
}

bool same_file(const std::string& a, const std::string& b) {
  std::error_code code;
  if (std::filesystem::equivalent(a, b, code)) return true;
  const auto whole = [&](const std::string& path) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path, code), code);
  };
  return whole(a) == whole(b);
}

}  // namespace training

TENON_NAMESPACE_END
