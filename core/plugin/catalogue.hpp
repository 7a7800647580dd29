// Which plugin files there are and what they declare: files in, facts out. It reads when it is asked to
// and runs nothing; what policies make of a plugin, and which ones were loaded, it does not know.
#pragma once

#include <string>
#include <vector>

#include "core/plugin/discovery.hpp"
#include "core/plugin/path_trust.hpp"

namespace tenon::core {

// Files and folders to search, beside those of the environment.
struct Search {
  std::vector<std::string> files;       // one by one, before all folders
  std::vector<std::string> added;       // folders, in front of the configured ones
  std::vector<std::string> configured;  // folders
  std::vector<std::string> named;       // by configs: versions among it are found side by side
  PathTrust trust;
};

// One thread at a time.
class Catalogue {
 public:
  explicit Catalogue(SearchEnvironment environment) : environment_(std::move(environment)) {}

  // Reads the folders, and what in them has changed since the last time.
  void rescan(const Search& search);
  // From now on what is here may be out of date.
  void expire() { is_current_ = false; }
  bool is_current() const { return is_current_; }

  // In search order: of each id the file that has it, side versions, and files that are shadowed.
  const std::vector<FoundPlugin>& plugins() const { return found_.plugins; }
  const std::vector<SearchFolder>& folders() const { return found_.folders; }

 private:
  const SearchEnvironment environment_;
  Discovery found_;
  bool is_current_ = false;
};

}  // namespace tenon::core
