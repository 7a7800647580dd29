// Plugins that end the process that loads them: suspected by a marker that is left behind, proven
// in a trial, and kept out until their bytes or the host change.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/fork.hpp"
#include "core/base/json.hpp"
#include "core/plugin/byte_source.hpp"
#include "core/plugin/failure.hpp"

namespace tenon::core {

// A file that is there as long as a plugin is being loaded: opened, or initialized. What ends the
// process meanwhile leaves it there.
class LoadMarker {
 public:
  LoadMarker() = default;  // no file
  LoadMarker(int folder, std::string name, int file);
  LoadMarker(const LoadMarker&) = delete;
  LoadMarker& operator=(const LoadMarker&) = delete;
  ~LoadMarker();

  // The innermost load of this thread has run the constructors of its plugin: its entry is next.
  static void enter_init() noexcept;

 private:
  int folder_ = -1;
  std::string name_;
  int file_ = -1;
  int process_ = 0;  // process that made it; the child of a fork leaves it alone
  LoadMarker* outer_ = nullptr;
};

// Contents of a marker.
struct LeftMarker {
  std::string file;  // its name
  int process = 0;
  int64_t number = 0;  // number of the load in its process
  std::string plugin, path, phase;
  std::string asked_by;  // reason of the load: "op 'mm'", "config x.json"
  FileStamp stamp;       // stamp of the plugin's file; without mode, owner and group
};

struct QuarantineRecord {
  std::string plugin, path, sha256, host;
  uint64_t size = 0;
  std::string phase;     // "open" or "init"
  std::string asked_by;  // in the process that was the first to end
  std::string ended;     // "SIGSEGV (Segmentation fault)", "exit code 3"
  std::string output;
  std::vector<std::string> backtrace;
};

// All that are in a folder, by number.
std::vector<LeftMarker> left_markers(const std::string& folder);

// How a child process that loads a plugin has ended.
struct TrialEnd {
  bool finished = false;  // false: it was stopped, after its time or from outside
  std::string text;       // "SIGSEGV (Segmentation fault)"; empty when it is not known
  std::string output;     // the last of it
  std::vector<std::string> backtrace;
  std::vector<LeftMarker> markers;  // markers that it left
};

// Lets the program `tenon` apply a config, with `folder` for its state. Throws IOError when no
// process can be started.
TrialEnd run_trial(const std::string& program, const std::string& folder, const tenon_json& config,
                   double seconds);

// Beside libtenon; empty when it is not there.
std::string trial_program();

// Thread-safe. Uses a folder that this user alone can write to; without one it does nothing.
class Quarantine {
 public:
  // `folder` is made, mode 0700, by the first marker, and so are the two above it, ~/.local/state,
  // but not within another user's folder. Empty: none. `program` runs trials; without one nothing is
  // proven.
  Quarantine(std::string folder, std::string program);
  ~Quarantine();

  bool is_kept() const { return !folder_.empty(); }
  // Why the file is in quarantine. Costs a look at the folder's time while nothing is.
  std::optional<PluginFailure> find(const std::string& path, const FileStamp& stamp);
  // Before the file is opened: when a process that ended was loading these bytes, a trial with this
  // config decides whether they go into quarantine. Throws PluginError when they do.
  void settle(const std::string& path, const FileStamp& stamp, const tenon_json& config);
  // Whether such a process was seen, so that settle() needs a config.
  bool is_suspect(const std::string& path, const FileStamp& stamp);
  LoadMarker mark(const std::string& plugin, const std::string& path, const FileStamp& stamp,
                  const std::string& asked_by);
  // Takes plugins with this id out. Returns how many.
  int64_t release(const std::string& id);
  // Into quarantine. Throws IOError.
  void add(const QuarantineRecord& record);

 private:
  bool open_folder(bool make);
  void look();
  void read_marker(const std::string& name);
  void read_record(const std::string& name);
  const std::string& hash_of(const std::string& path, const FileStamp& stamp);
  PluginFailure failure_of(const QuarantineRecord& record, const std::string& path) const;

  const std::string folder_;
  const std::string program_;
  std::mutex mutex_;
  const HeldAcrossFork held_{mutex_};
  int descriptor_ = -1;
  bool refused_ = false;   // the folder cannot be used
  int64_t looked_at_ = 0;  // the folder's time when it was last read
  int64_t next_number_ = 0;
  std::vector<LeftMarker> suspects_;
  std::vector<QuarantineRecord> records_;
  std::map<std::string, std::pair<FileStamp, std::string>> hashes_;
};

}  // namespace tenon::core
