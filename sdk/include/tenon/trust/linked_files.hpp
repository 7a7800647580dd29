// The libraries that a file links, as the system's loader finds them.
#pragma once

#include <string>
#include <vector>

#include <tenon/host.hpp>

TENON_NAMESPACE_BEGIN

namespace trust {

struct LinkedFile {  // a library that a file links
  std::string name;  // "libblas.so.3"
  std::string path;  // absolute; empty: not found
};

// A shared library as the system's loader is to list it.
struct LinkingFile {
  std::string path;          // place of the file; it is not read
  const std::string& bytes;  // a copy of it
  std::vector<std::string>
      run_path;  // its folders, with $ORIGIN as it is written: the document "loadable"
};

// Also what these libraries link, sorted by name. Asks the system's loader in a child process, which maps the
// files and runs none of their code. Throws RefusalError, stage open, when the loader refuses the copy or
// does not find a library.
std::vector<LinkedFile> linked_files(const LinkingFile& file);

// The fault of a listing of the file at `path`, from what the loader printed and how it ended, as
// waitpid() returns it; "" where nothing is.
std::string loader_problem(std::string text, int status, const std::string& path);

// `folder` of a run path for the file at `path`: with $ORIGIN as that file's folder.
std::string expand_origin(std::string folder, const std::string& path);

}  // namespace trust

TENON_NAMESPACE_END
