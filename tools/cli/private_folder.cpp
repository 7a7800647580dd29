// A folder for the files of one object.
#include "private_folder.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <tenon/error.hpp>

#include "format.hpp"

namespace cli {

PrivateFolder::PrivateFolder() {
  std::error_code code;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(code);
  if (code)
    throw tenon::IOError(
        format_text("there is no folder for temporary files: set TMPDIR to one that exists ({})",
                    code.message()));
  path_ = folder / "tenon-XXXXXX";
  if (mkdtemp(path_.data()) == nullptr)
    throw tenon::IOError(
        format_text("cannot create a folder '{}': {}", path_, std::strerror(errno)));
}

PrivateFolder::~PrivateFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace cli
