// Making files that were not there.
#include "new_files.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <tenon/error.hpp>

#include "format.hpp"

namespace cli {

namespace fs = std::filesystem;

NewFiles::~NewFiles() {
  std::error_code ignored;
  for (auto path = made_.rbegin(); path != made_.rend(); ++path) fs::remove(*path, ignored);
}

void NewFiles::folder(const fs::path& path) {
  if (path.empty() || fs::exists(path)) return;
  folder(path.parent_path());
  fs::create_directory(path);
  made_.push_back(path);
}

void NewFiles::write(const fs::path& path, std::string_view text) {
  folder(fs::absolute(path).lexically_normal().parent_path());
  // x: a file that is there is left as it is, also one that appears now.
  std::FILE* file = std::fopen(path.c_str(), "wxe");
  const auto refuse = [&] {
    throw tenon::IOError(format_text("cannot write '{}': {}", path.string(), std::strerror(errno)));
  };
  if (file == nullptr) refuse();
  made_.push_back(path);
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (std::fclose(file) != 0 || !written) refuse();
}

}  // namespace cli
