// A folder for the files of one object.
#include "private_folder.hpp"

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include <tenon/error.hpp>

#include "format.hpp"
#include "remove_tree.hpp"

namespace cli {

PrivateFolder::PrivateFolder() {
  std::error_code code;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(code);
  if (code)
    throw tenon::IOError(
        format_text("cannot find a folder for temporary files ({}); set TMPDIR to one that exists",
                    code.message()));
  path_ = folder / "tenon-XXXXXX";
  if (mkdtemp(path_.data()) == nullptr)
    throw tenon::IOError(
        format_text("cannot create a folder '{}': {}", path_, std::strerror(errno)));
}

PrivateFolder::~PrivateFolder() {
  // A process that was just ended may still write into it.
  std::error_code fault;
  for (int attempt = 0; attempt < 1000; ++attempt) {
    remove_tree(path_, fault);
    if (!fault && !std::filesystem::exists(path_, fault)) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace cli
