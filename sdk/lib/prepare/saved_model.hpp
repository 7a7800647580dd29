// Files of prepared models: safetensors files of their constants, whose metadata has the lists.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <tenon/prepare/prepare.hpp>

#include "arguments_key.hpp"
#include "plugin_build.hpp"

TENON_NAMESPACE_BEGIN

namespace prepared {

// A list of a file.
struct SavedList {
  ArgumentsKey key;
  PreparedList report;  // without calls
  CallList list;
  std::vector<std::string> providers;  // by call
};

struct SavedModel {
  std::string path;
  Json notes;           // the file's other metadata, an object of texts; undefined: none
  std::string forward;  // schema of the model's forward
  std::vector<PluginBuild> plugins;
  std::vector<SavedList> lists;
};

// Replaces the file as a whole, or leaves the old one.
void write_saved(const SavedModel& model);
// The model, whose constants are in the mapped file. PluginError where a plugin is missing or another build,
// RuntimeError where the boundary or the processor is another, ValueError for what is not such a file, or one
// of a format that this library does not read; IOError.
std::shared_ptr<const SavedModel> read_saved(const std::string& path);
// PluginError where a plugin is not the build that the lists were made with.
void check_builds(const std::string& path, const std::vector<PluginBuild>& plugins);

// The model of a file's metadata and tensors, without a look at plugins, boundary and processor.
SavedModel read_document(const Json& document, const StoredConstants& stored);

}  // namespace prepared

TENON_NAMESPACE_END
