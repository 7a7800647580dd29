// Files that are there as long as a plugin is being loaded: what ends the process meanwhile leaves them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tenon/abi/guard.h>
#include <tenon/host.hpp>

TENON_NAMESPACE_BEGIN

namespace trust {

// One load of this process: while its code is opened, or initialized.
class LoadMarker {
 public:
  LoadMarker() = default;                              // no file
  LoadMarker(int folder, std::string name, int file);  // marks a load in progress
  LoadMarker(const LoadMarker&) = delete;
  LoadMarker& operator=(const LoadMarker&) = delete;
  ~LoadMarker();

  // The constructors of the plugin have run: its entry is next.
  void enter_init() noexcept;

 private:
  bool is_own() const;

  int folder_ = -1;
  std::string name_;
  int file_ = -1;
  int process_ = 0;  // process that made it; the child of a fork leaves it alone
};

// The text of a marker.
struct LeftMarker {
  std::string file;                 // its name
  int process = 0;                  // id of the process that loads
  int64_t number = 0;               // number of the load in its process
  std::string plugin, path, phase;  // id, file, and what it was doing
  std::string asked_by;             // who needed the plugin: "op 'mm'", "config x.json"
  tenon_file_stamp stamp;           // of the plugin's file
};

// All that are in a folder, by number.
std::vector<LeftMarker> left_markers(const std::string& folder);

}  // namespace trust

TENON_NAMESPACE_END
