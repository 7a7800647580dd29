// The files that the calls of one sample read and write.
#include "sample_files.hpp"

#include <atomic>
#include <filesystem>
#include <system_error>
#include <utility>

#include <tenon/error.hpp>
#include <tenon/runtime.hpp>
#include <tenon/state/atomic_file.hpp>

#include "format.hpp"
#include "remove_tree.hpp"

namespace cli {

namespace fs = std::filesystem;

namespace {

void make_folders(const fs::path& folder) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed)
    throw tenon::IOError(
        format_text("cannot make the folder '{}': {}", folder.string(), failed.message()));
}

int64_t thread_number() {
  static std::atomic<int64_t> next{0};
  thread_local const int64_t number = next++;
  return number;
}

}  // namespace

std::string file_name_fault(const std::string& name) {
  constexpr size_t longest = 200;
  if (name.empty() || name.size() > longest)
    return format_text("a file name of {} characters, expected 1 to {}", name.size(), longest);
  if (name.find('\0') != std::string::npos) return "the name of the file has a NUL byte; remove it";
  for (const fs::path& part : fs::path(name)) {
    if (part == ".." || part.is_absolute())
      return format_text("found '{}', expected a path below the sample's folder", name);
  }
  return "";
}

SampleFiles::SampleFiles(std::string folder, bool preparing)
    : folder_(std::move(folder)), preparing_(preparing) {
  make_folders(fs::path(folder_) / "shared");
}

void SampleFiles::write(const std::string& name, const std::string& content) const {
  const fs::path path = fs::path(folder_) / "shared" / name;
  make_folders(path.parent_path());
  tenon::state::write_file(path.string(), content);
}

std::string SampleFiles::own() const {
  return (fs::path(folder_) / format_text("thread-{}", thread_number())).string();
}

std::string SampleFiles::path(const std::string& name) const {
  std::error_code missing;
  fs::path path = fs::path(folder_) / "shared" / name;
  if (fs::exists(path, missing)) return path.string();
  if (!preparing_) path = fs::path(own()) / name;
  make_folders(path.parent_path());
  return path.string();
}

void SampleFiles::clear() const {
  if (preparing_) return;
  std::error_code missing;
  remove_tree(own(), missing);
}

}  // namespace cli
