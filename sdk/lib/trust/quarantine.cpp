// Suspicions and records, as files of a private folder.
#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <map>
#include <mutex>
#include <new>
#include <pthread.h>
#include <string_view>
#include <unistd.h>
#include <utility>

#include <sys/stat.h>

#include <tenon/state/atomic_file.hpp>
#include <tenon/trust/quarantine.hpp>
#include <tenon/trust/sha256.hpp>
#include <tenon/trust/trial.hpp>

#include "file.hpp"
#include "folder_file.hpp"
#include "lib/base/format.hpp"
#include "lib/base/text.hpp"
#include "load_marker.hpp"
#include "process_name.hpp"

TENON_NAMESPACE_BEGIN

namespace trust {

namespace {

using lib::format_text;
using lib::quote;

constexpr std::string_view kTrialPrefix = "trial-";
constexpr std::string_view kRecordPrefix = "quarantine-";
constexpr std::string_view kRecordSuffix = ".json";
constexpr size_t kMostRecord = size_t{1} << 20;
constexpr double kTrialSeconds = 10;

// One lock for all quarantines. In the child of a fork it may be another thread's, which is not there: the
// child gets a new lock, and Quarantine::folder() a new state.
std::mutex& quarantine_lock() {
  static auto& mutex = *[] {
    auto* const made = new std::mutex;
    ::pthread_atfork(nullptr, nullptr, [] { new (&quarantine_lock()) std::mutex; });
    return made;
  }();
  return mutex;
}
using Lock = std::lock_guard<std::mutex>;

void log_line(int32_t level, const std::string& plugin, const std::string& text) {
  service::threads().log(level, plugin.c_str(), text.data(), static_cast<int64_t>(text.size()));
}
constexpr int32_t kInfo = 2, kWarning = 3;

std::string record_name(const std::string& sha256) {
  return format_text("{}{}{}", kRecordPrefix, sha256, kRecordSuffix);
}

bool is_record_name(std::string_view name) {
  return name.size() > kRecordPrefix.size() + kRecordSuffix.size() &&
         name.substr(0, kRecordPrefix.size()) == kRecordPrefix &&
         name.substr(name.size() - kRecordSuffix.size()) == kRecordSuffix;
}

std::string record_text(const QuarantineRecord& record) {
  JsonArray backtrace;
  for (const std::string& line : record.backtrace) backtrace.add(line);
  return JsonObject()
      .set("plugin", record.plugin)
      .set("path", record.path)
      .set("sha256", record.sha256)
      .set("size", static_cast<int64_t>(record.size))
      .set("host", record.host)
      .set("phase", record.phase)
      .set("asked_by", record.asked_by)
      .set("ended", record.ended)
      .set("output", record.output)
      .set("backtrace", backtrace.json())
      .json()
      .dump(2);
}

// Whether other bytes are where it was loaded from. What is not there may be back: a drive that is
// mounted later.
bool is_replaced(const LeftMarker& marker) {
  try {
    return !is_same(RegularFile(marker.path).stamp(), marker.stamp);
  } catch (const IOError&) {
    return false;
  }
}

// The proof of a trial about the bytes that were tried; none when they no longer exist.
std::optional<QuarantineRecord> record_of(TrialEnd end) {
  if (!end.finished || end.markers.empty()) return std::nullopt;
  // The innermost load is at fault: what loads it in its init is not.
  const LeftMarker& fault = end.markers.back();
  QuarantineRecord record;
  record.plugin = fault.plugin;
  record.path = fault.path;
  record.size = fault.stamp.size;
  record.host = host_text();
  record.phase = fault.phase;
  record.ended = std::move(end.text);
  record.output = std::move(end.output);
  record.backtrace = std::move(end.backtrace);
  try {
    if (!is_same(RegularFile(fault.path).stamp(), fault.stamp)) return std::nullopt;
    record.sha256 = sha256_file(fault.path);
    if (!is_same(RegularFile(fault.path).stamp(), fault.stamp)) return std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }
  return record;
}

}  // namespace

// ---- the folder ----

// Records of the folder that one process has read. Used under the lock.
class Quarantine::Folder {
 public:
  explicit Folder(const std::string& path) : path_(path) {}

  bool open(bool make);
  int descriptor() const { return descriptor_.number(); }
  bool is_of_this_process() const { return process_ == ::getpid(); }
  int64_t next_number() { return ++next_number_; }

  // Reads it again when it has changed.
  void look();
  void look_once() {
    if (looked_at_ == 0) look();  // every load changes the folder
  }
  void forget() { looked_at_ = 0; }

  std::vector<LeftMarker>& suspects() { return suspects_; }
  const std::vector<QuarantineRecord>& records() const { return records_; }
  const std::string& hash_of(const std::string& path, const tenon_file_stamp& stamp);

 private:
  void read_marker(const std::string& name);
  void read_record(const std::string& name);
  void remove(const std::string& name) { ::unlinkat(descriptor(), name.c_str(), 0); }

  const std::string& path_;
  const int process_ = ::getpid();
  Descriptor descriptor_;
  bool refused_ = false;   // it cannot be used
  int64_t looked_at_ = 0;  // its time when it was last read
  int64_t next_number_ = 0;
  std::vector<LeftMarker> suspects_;
  std::vector<QuarantineRecord> records_;
  std::map<std::string, std::pair<tenon_file_stamp, std::string>> hashes_;
};

bool Quarantine::Folder::open(bool make) {
  if (descriptor() >= 0) return true;
  if (refused_ || path_.empty()) return false;
  if (make) {
    const std::filesystem::path state = std::filesystem::path(path_).parent_path();
    // In another user's home, as sudo may leave it, nothing is made.
    struct stat nearest {};
    std::filesystem::path existing = path_;
    while (::stat(existing.c_str(), &nearest) != 0 && existing.has_relative_path())
      existing = existing.parent_path();
    if (nearest.st_uid != ::geteuid()) {
      refused_ = true;
      return false;
    }
    ::mkdir(state.parent_path().c_str(), 0700);
    ::mkdir(state.c_str(), 0700);
    ::mkdir(path_.c_str(), 0700);
  }
  descriptor_ = Descriptor(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (descriptor() >= 0 && ::fstat(descriptor(), &status) == 0 && status.st_uid == ::geteuid() &&
      (status.st_mode & 0022U) == 0)
    return true;
  refused_ = make || descriptor() >= 0;
  descriptor_.close();
  return false;
}

void Quarantine::Folder::look() {
  struct stat status {};
  if (!open(false) || ::fstat(descriptor(), &status) != 0) return;
  const int64_t changed = int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
  if (changed == looked_at_) return;
  looked_at_ = changed;
  suspects_.clear();
  records_.clear();
  for (const std::string& name : names_in(descriptor())) {
    read_marker(name);
    if (is_record_name(name)) read_record(name);
    const auto trial = numbers_of(name, kTrialPrefix);
    if (trial && trial->first != process_ && is_number_free(trial->first)) {
      std::error_code ignored;
      std::filesystem::remove_all(std::filesystem::path(path_) / name, ignored);
    }
  }
}

void Quarantine::Folder::read_marker(const std::string& name) {
  const auto numbers = numbers_of(name, kMarkerPrefix);
  if (!numbers || numbers->first == process_) return;
  const Json document = parse_object(read_small(descriptor(), name, kMostMarker));
  if (!document.defined()) {
    // A temporary of a process that was killed while it wrote, or is writing.
    if (is_number_free(numbers->first)) remove(name);
    return;
  }
  LeftMarker marker = marker_of(name, *numbers, document);
  if (is_writer_alive(marker, document)) return;
  // A trial cannot load bytes that are gone, or a load of another Tenon.
  if (document["host"].text() != host_text() || is_replaced(marker))
    remove(name);
  else
    suspects_.push_back(std::move(marker));
}

void Quarantine::Folder::read_record(const std::string& name) {
  const Json document = parse_object(read_small(descriptor(), name, kMostRecord));
  if (!document.defined()) return;
  QuarantineRecord record;
  record.plugin = document["plugin"].text();
  record.path = document["path"].text();
  record.sha256 = document["sha256"].text();
  if (document["size"].is_number()) record.size = static_cast<uint64_t>(document["size"].integer());
  record.host = document["host"].text();
  record.phase = document["phase"].text();
  record.asked_by = document["asked_by"].text();
  record.ended = document["ended"].text();
  if (record_name(record.sha256) != name) return;
  if (record.host != host_text())
    remove(name);  // another Tenon may load it
  else
    records_.push_back(std::move(record));
}

const std::string& Quarantine::Folder::hash_of(const std::string& path,
                                               const tenon_file_stamp& stamp) {
  auto& [known, hash] = hashes_[path];
  if (hash.empty() || !is_same(known, stamp)) {
    hash = sha256_file(path);
    known = stamp;
  }
  return hash;
}

// ---- what is kept out ----

Quarantine::Quarantine(std::string folder, std::string program)
    : folder_(std::move(folder)), program_(std::move(program)) {}

Quarantine::~Quarantine() = default;

// Under the lock. A fork may have left the parent's state as another thread was changing it: it is left
// alone.
Quarantine::Folder& Quarantine::folder() {
  if (state_ != nullptr && !state_->is_of_this_process()) static_cast<void>(state_.release());
  if (state_ == nullptr) state_ = std::make_unique<Folder>(folder_);
  return *state_;
}

std::unique_ptr<LoadMarker> Quarantine::mark(const std::string& plugin, const std::string& path,
                                             const tenon_file_stamp& stamp,
                                             const std::string& asked_by) {
  std::string name;
  int place = -1;
  {
    const Lock lock(quarantine_lock());
    if (!folder().open(true)) return nullptr;
    place = folder().descriptor();
    name = format_text("{}{}-{}", kMarkerPrefix, ::getpid(), folder().next_number());
  }
  Descriptor file(
      ::openat(place, name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (file.number() < 0) return nullptr;
  const std::string text = marker_text(plugin, path, stamp, asked_by);
  if (::write(file.number(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    ::unlinkat(place, name.c_str(), 0);
    return nullptr;
  }
  return std::make_unique<LoadMarker>(place, std::move(name), file.release());
}

namespace {

Refusal refusal_of(const QuarantineRecord& record, const std::string& folder,
                   const std::string& path) {
  Refusal refusal;
  refusal.stage = record.phase == "init" ? TENON_STAGE_INIT : TENON_STAGE_OPEN;
  refusal.plugin = record.plugin;
  refusal.path = path;
  refusal.problem = format_text(
      "it is in quarantine: a process ended while it was loaded{}{}, and so did a trial of it{}{}",
      record.asked_by.empty() ? "" : " for ", record.asked_by, record.ended.empty() ? "" : ", by ",
      record.ended);
  refusal.remedy = format_text(
      "replace it, or try it again with `tenon plugins --retry {}`; what is known of it is in {}",
      record.plugin, quote(format_text("{}/{}", folder, record_name(record.sha256))));
  refusal.quarantined = true;
  return refusal;
}

}  // namespace

std::optional<Refusal> Quarantine::find(const std::string& path, const tenon_file_stamp& stamp) {
  const Lock lock(quarantine_lock());
  folder().look();
  for (const QuarantineRecord& record : folder().records()) {
    if (record.size != stamp.size) continue;
    try {
      if (folder().hash_of(path, stamp) == record.sha256) return refusal_of(record, folder_, path);
    } catch (const Error&) {
      return std::nullopt;  // it cannot be read, which loading it will say
    }
  }
  return std::nullopt;
}

bool Quarantine::is_suspect(const std::string& path, const tenon_file_stamp& stamp) {
  const Lock lock(quarantine_lock());
  folder().look_once();
  const std::vector<LeftMarker>& suspects = folder().suspects();
  return std::any_of(suspects.begin(), suspects.end(), [&](const LeftMarker& marker) {
    return marker.path == path && is_same(marker.stamp, stamp);
  });
}

std::optional<Refusal> Quarantine::settle(const std::string& path, const tenon_file_stamp& stamp,
                                          const Json& config) {
  std::vector<LeftMarker> markers;
  std::string trial_folder;
  {
    const Lock lock(quarantine_lock());
    std::vector<LeftMarker>& suspects = folder().suspects();
    const auto others =
        std::stable_partition(suspects.begin(), suspects.end(), [&](const LeftMarker& marker) {
          return marker.path != path || !is_same(marker.stamp, stamp);
        });
    markers.assign(others, suspects.end());
    suspects.erase(others, suspects.end());
    if (markers.empty() || program_.empty()) return std::nullopt;
    trial_folder =
        format_text("{}/{}{}-{}", folder_, kTrialPrefix, ::getpid(), folder().next_number());
  }
  TrialEnd end;
  try {
    end = run_trial(program_, trial_folder, config, kTrialSeconds);
  } catch (const Error& error) {
    log_line(kWarning, markers.front().plugin,
             format_text("no trial of it can be made: {}", error.what()));
    return std::nullopt;
  }
  if (!end.finished || end.markers.empty()) {
    log_line(kInfo, markers.front().plugin,
             format_text("process {} ended while it loaded this plugin; a trial {}",
                         markers.front().process,
                         end.finished ? "loaded it without a fault" : "was stopped"));
  }
  std::optional<QuarantineRecord> record = record_of(std::move(end));
  // The trial loads it by its name: who needed it is known of the process before.
  if (record && record->path == path) record->asked_by = markers.front().asked_by;
  if (record) add(*record);
  // Last: the suspicion of a process that ends before is for the next one to settle.
  const Lock lock(quarantine_lock());
  for (const LeftMarker& marker : markers)
    ::unlinkat(folder().descriptor(), marker.file.c_str(), 0);
  if (record && record->path == path) return refusal_of(*record, folder_, path);
  return std::nullopt;
}

void Quarantine::add(const QuarantineRecord& record) {
  state::write_file(format_text("{}/{}", folder_, record_name(record.sha256)), record_text(record));
  const Lock lock(quarantine_lock());
  folder().forget();
}

int64_t Quarantine::release(const std::string& id) {
  const Lock lock(quarantine_lock());
  folder().look();
  int64_t count = 0;
  for (const QuarantineRecord& record : folder().records()) {
    if (record.plugin != id) continue;
    ::unlinkat(folder().descriptor(), record_name(record.sha256).c_str(), 0);
    ++count;
  }
  folder().forget();
  return count;
}

}  // namespace trust

TENON_NAMESPACE_END
