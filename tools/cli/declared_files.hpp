// Kinds of files that plugins declare code for, by the endings of names, as data in their files:
//
//   TENON_CONVERSIONS(files, "exports", R"(
//   onnx = onnx.Exporter
//   )")
#pragma once

#include <string>
#include <vector>

namespace cli {

// Name that a plugin has for an ending.
struct DeclaredFile {
  std::string ending, name, plugin;
};

// Names of a kind, such as "exports", of all plugins that can be used.
std::vector<DeclaredFile> declared_files(const std::string& kind);
// The one for an ending; null: none has it. ConfigError where two plugins have it.
const DeclaredFile* find_declared(const std::vector<DeclaredFile>& list, const std::string& ending);

// The letters behind the last dot of a file's name, in lower case.
std::string file_ending(const std::string& path);

}  // namespace cli
