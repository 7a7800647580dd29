// Where the system's loader finds the libraries that a file links.
#pragma once

#include <string>
#include <vector>

namespace tenon::core {

struct LinkedFile {
  std::string name;  // "libblas.so.3"
  std::string path;
};

// Also what these libraries link, sorted by name. Asks the system's loader in a child process,
// which maps the files and runs none of their code. Throws PluginError, stage open, when the loader
// refuses the file or does not find a library.
std::vector<LinkedFile> linked_files(const std::string& path);

}  // namespace tenon::core
