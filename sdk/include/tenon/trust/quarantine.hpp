// Plugins that end the process that loads them: suspected by a marker that is left behind, proven
// in a trial, and kept out until their bytes or the host change.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tenon/json.hpp>
#include <tenon/trust/load_marker.hpp>
#include <tenon/trust/refusal.hpp>

TENON_NAMESPACE_BEGIN

namespace trust {

struct QuarantineRecord {                  // how a plugin ended a process
  std::string plugin, path, sha256, host;  // which one, and on which machine
  uint64_t size = 0;                       // size of the file in bytes
  std::string phase;                       // "open" or "init"
  std::string asked_by;                    // in the process that was the first to end
  std::string ended;                       // "SIGSEGV (Segmentation fault)", "exit code 3"
  std::string output;                      // the last lines
  std::vector<std::string> backtrace;      // innermost call first
};

// Any thread. Uses a folder that this user alone can write to; without one it does nothing.
class Quarantine {
 public:
  // `folder` is made, mode 0700, by the first marker, and so are the two above it, ~/.local/state,
  // but not within another user's folder. Empty: none. `program` runs trials; without one nothing is
  // proven.
  Quarantine(std::string folder, std::string program);
  ~Quarantine();
  Quarantine(const Quarantine&) = delete;
  Quarantine& operator=(const Quarantine&) = delete;

  bool is_kept() const { return !folder_.empty(); }  // false: nothing is written
  // Why the file is in quarantine. Costs a look at the folder's time while nothing is.
  std::optional<Refusal> find(const std::string& path, const tenon_file_stamp& stamp);
  // Before the file is opened: when a process that ended was loading these bytes, a trial with this
  // config decides whether they go into quarantine, which is returned.
  std::optional<Refusal> settle(const std::string& path, const tenon_file_stamp& stamp,
                                const Json& config);
  // Whether such a process was seen, so that settle() needs a config.
  bool is_suspect(const std::string& path, const tenon_file_stamp& stamp);
  // Null where none can be made.
  std::unique_ptr<LoadMarker> mark(const std::string& plugin, const std::string& path,
                                   const tenon_file_stamp& stamp, const std::string& asked_by);
  // Takes plugins with this id out. Returns how many.
  int64_t release(const std::string& id);
  // Into quarantine. Throws IOError.
  void add(const QuarantineRecord& record);

 private:
  class Folder;
  Folder& folder();

  const std::string folder_;
  const std::string program_;
  std::unique_ptr<Folder> state_;  // records of the folder that this process has read
};

}  // namespace trust

TENON_NAMESPACE_END
