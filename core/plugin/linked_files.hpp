// The libraries that a file links, as the system's loader finds them.
#pragma once

#include <string>
#include <vector>

#include "core/plugin/sealed_file.hpp"

namespace tenon::core {

struct LinkedFile {
  std::string name;  // "libblas.so.3"
  std::string path;
};

// Libraries of a copy, as if it were the file at `path`, which is not read. Also what these
// libraries link, sorted by name. Asks the system's loader in a child process, which maps the files
// and runs none of their code. Throws PluginError, stage open, when the loader refuses the copy or
// does not find a library, and stage read for what is not a shared library.
std::vector<LinkedFile> linked_files(const SealedFile& copy, const std::string& path);

// The fault of a listing of the file at `path`, from what the loader printed and how it ended, as
// waitpid() returns it; "" where nothing is.
std::string loader_problem(std::string text, int status, const std::string& path);

// Whether $ORIGIN is in a folder of a run path; and that folder for the file at `path`.
bool is_by_origin(const std::string& folder);
std::string expand_origin(std::string folder, const std::string& path);

}  // namespace tenon::core
