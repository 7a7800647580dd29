// From a plugin's file to its code: the bytes are judged as they are now, mapped, entered and
// initialized. Nothing is visible to anybody yet. Takes no lock, since code of the plugin runs.
#pragma once

#include <memory>
#include <string>

#include "core/plugin/admission.hpp"
#include "core/plugin/known_plugin.hpp"
#include "core/plugin/loader.hpp"
#include "core/plugin/unmap_verdict.hpp"

namespace tenon::core {

// The request, copied from data that a lock protects.
struct Opening {
  std::string plugin;  // id
  FoundPlugin found;   // as it was indexed
  uint64_t generation = 1;
  LoadTerms terms;
  LoadedPlugin before;  // the code that this takes the place of, if any
  std::string asked_by;
};

struct OpenedPlugin {
  std::shared_ptr<const PluginFacts> facts;  // facts of the bytes that are mapped
  FileStamp stamp;
  UnmapVerdict verdict;
  // Has a library as soon as code of the plugin may have run, also when opening fails.
  LoadedPlugin loaded;
};

// Throws PluginError; `opened` has what is there by then.
void open_plugin(const Opening& opening, const tenon_host& host, OpenedPlugin& opened);

}  // namespace tenon::core
