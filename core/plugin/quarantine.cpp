// Markers and records, as files of a private folder.
#include "core/plugin/quarantine.hpp"

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <filesystem>
#include <string_view>
#include <unistd.h>

#include <sys/stat.h>

#include "core/base/atomic_file.hpp"
#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/json_bound.hpp"
#include "core/base/log.hpp"
#include "core/base/text.hpp"
#include "core/plugin/sha256.hpp"
#include "tenon/abi/version.h"

namespace tenon::core {

namespace {

constexpr std::string_view kMarkerPrefix = "loading-";
constexpr std::string_view kTrialPrefix = "trial-";
constexpr std::string_view kRecordPrefix = "quarantine-";
constexpr std::string_view kRecordSuffix = ".json";
// The phase comes first and both have one length, so that it is changed by one write in place.
constexpr std::string_view kMarkerStart = R"({"phase":")";
constexpr std::string_view kOpen = "open", kInit = "init";
constexpr size_t kMostMarker = 16384;
constexpr size_t kMostRecord = size_t{1} << 20;
constexpr size_t kMostFiles = 4096;  // most files that are read
constexpr double kTrialSeconds = 10;

thread_local LoadMarker* current_marker = nullptr;

std::string host_text() {
  return format_text("{}.{}.{}", TENON_VERSION_MAJOR, TENON_VERSION_MINOR, TENON_VERSION_PATCH);
}

// Up to `limit` bytes; empty when the file cannot be read.
std::string read_small(int folder, const std::string& name, size_t limit) {
  const int file = ::openat(folder, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return {};
  std::string text(limit, '\0');
  size_t length = 0;
  while (length < limit) {
    const ssize_t got = ::read(file, text.data() + length, limit - length);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    length += static_cast<size_t>(got);
  }
  ::close(file);
  text.resize(length);
  return text;
}

// Target of a short link; "" when it cannot be read.
std::string link_text(const char* path) {
  char text[64];
  const ssize_t length = ::readlink(path, text, sizeof text);
  return {text, static_cast<size_t>(std::max<ssize_t>(length, 0))};
}

// When a process began, in ticks since the machine did; empty when there is none. It is read of its first
// thread, which began then: an emulator may answer for the process, with its own idea of it, and with
// the parent's after a fork.
std::string start_of(const std::string& process) {
  const std::string stat =
      read_small(AT_FDCWD, format_text("/proc/{0}/task/{0}/stat", process), 2048);
  std::string_view rest = stat;
  rest.remove_prefix(std::min(rest.rfind(')') + 1, rest.size()));  // the name may hold anything
  for (int field = 2; !rest.empty(); ++field) {
    const size_t begin = rest.find_first_not_of(' ');
    if (begin == rest.npos) break;
    rest.remove_prefix(begin);
    const size_t end = std::min(rest.find(' '), rest.size());
    if (field == 21) return std::string(rest.substr(0, end));
    rest.remove_prefix(end);
  }
  return {};
}

// Distinguishes a process from one that has its number later, or elsewhere.
struct ProcessName {
  int number = 0;
  std::string boot, space, start;

  static ProcessName own() {
    static std::mutex mutex;
    static const HeldAcrossFork held(mutex);
    static ProcessName name;
    const std::lock_guard lock(mutex);
    if (name.number == ::getpid()) return name;
    name.boot = read_small(AT_FDCWD, "/proc/sys/kernel/random/boot_id", 64);
    name.boot.resize(std::min(name.boot.find('\n'), name.boot.size()));
    name.space = link_text("/proc/self/ns/pid");
    name.start = start_of(link_text("/proc/self"));
    name.number = ::getpid();
    return name;
  }
};

// The number of the process in the name of a marker or trial: "loading-4711-3".
std::optional<std::pair<int, int64_t>> numbers_of(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  std::pair<int, int64_t> numbers;
  const char* const end = name.data() + name.size();
  const auto first = std::from_chars(name.data(), end, numbers.first);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '-') return std::nullopt;
  const auto second = std::from_chars(first.ptr + 1, end, numbers.second);
  if (second.ec != std::errc() || second.ptr != end) return std::nullopt;
  return numbers;
}

std::string text_in(const tenon_json& node, std::string_view key) {
  const tenon_json* found = node.find(key);
  return found != nullptr && found->is_string() ? std::string(found->as_string()) : std::string();
}
int64_t number_in(const tenon_json& node, std::string_view key) {
  const tenon_json* found = node.find(key);
  return found != nullptr && found->is_int() ? found->as_int() : 0;
}

// Nothing for a text that was cut when its writer was killed.
Json parse_object(const std::string& text) {
  try {
    require_bounded(text, {});
    Json document = parse_json(text);
    return document->is_object() ? document : Json();
  } catch (const Error&) {
    return {};
  }
}

std::string marker_text(const std::string& plugin, const std::string& path, const FileStamp& stamp,
                        const std::string& asked_by) {
  const ProcessName own = ProcessName::own();
  JsonBuilder document;
  document.begin_object()
      .member("phase", kOpen)
      .member("plugin", plugin)
      .member("path", path)
      .member("asked_by", asked_by)
      .member("device", static_cast<int64_t>(stamp.device))
      .member("inode", static_cast<int64_t>(stamp.inode))
      .member("size", static_cast<int64_t>(stamp.size))
      .member("modified", stamp.modified)
      .member("changed", stamp.changed)
      .member("host", host_text())
      .member("boot", own.boot)
      .member("space", own.space)
      .member("start", own.start);
  return dump(*document.end_object().finish());
}

LeftMarker marker_of(const std::string& name, const std::pair<int, int64_t>& numbers,
                     const tenon_json& document) {
  LeftMarker marker;
  marker.file = name;
  std::tie(marker.process, marker.number) = numbers;
  marker.plugin = text_in(document, "plugin");
  marker.path = text_in(document, "path");
  marker.phase = text_in(document, "phase");
  marker.asked_by = text_in(document, "asked_by");
  marker.stamp.device = static_cast<uint64_t>(number_in(document, "device"));
  marker.stamp.inode = static_cast<uint64_t>(number_in(document, "inode"));
  marker.stamp.size = static_cast<uint64_t>(number_in(document, "size"));
  marker.stamp.modified = number_in(document, "modified");
  marker.stamp.changed = number_in(document, "changed");
  return marker;
}

bool same_bytes(const FileStamp& a, const FileStamp& b) {
  return a.same_file(b) && a.size == b.size && a.modified == b.modified && a.changed == b.changed;
}

// Whether other bytes are where it was loaded from. What is not there may be back: a drive that is
// mounted later.
bool is_replaced(const LeftMarker& marker) {
  try {
    return !same_bytes(FileSource(marker.path).stamp(), marker.stamp);
  } catch (const PluginError&) {
    return false;
  }
}

bool is_process_alive(int process, const tenon_json& document) {
  const ProcessName own = ProcessName::own();
  if (text_in(document, "boot") != own.boot) return false;
  // The numbers of another container say nothing here: its processes may be alive.
  if (text_in(document, "space") != own.space) return true;
  return start_of(std::to_string(process)) == text_in(document, "start");
}

std::vector<std::string> names_in(int folder) {
  std::vector<std::string> names;
  const int copy = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const list = copy < 0 ? nullptr : ::fdopendir(copy);
  if (list == nullptr) return names;
  while (const dirent* entry = ::readdir(list)) {
    if (names.size() == kMostFiles) break;
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  ::closedir(list);
  return names;
}

std::string record_name(const std::string& sha256) {
  return format_text("{}{}{}", kRecordPrefix, sha256, kRecordSuffix);
}

std::string record_text(const QuarantineRecord& record) {
  JsonBuilder document;
  document.begin_object()
      .member("plugin", record.plugin)
      .member("path", record.path)
      .member("sha256", record.sha256)
      .member("size", static_cast<int64_t>(record.size))
      .member("host", record.host)
      .member("phase", record.phase)
      .member("asked_by", record.asked_by)
      .member("ended", record.ended)
      .member("output", record.output)
      .key("backtrace")
      .begin_array();
  for (const std::string& line : record.backtrace) document.value(line);
  return dump(*document.end_array().end_object().finish(), 2);
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
    if (!same_bytes(FileSource(fault.path).stamp(), fault.stamp)) return std::nullopt;
    record.sha256 = sha256_file(fault.path);
    if (!same_bytes(FileSource(fault.path).stamp(), fault.stamp)) return std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }
  return record;
}

}  // namespace

// ---- markers ----

LoadMarker::LoadMarker(int folder, std::string name, int file)
    : folder_(folder),
      name_(std::move(name)),
      file_(file),
      process_(::getpid()),
      outer_(current_marker) {
  current_marker = this;
}

LoadMarker::~LoadMarker() {
  if (file_ < 0) return;
  current_marker = outer_;
  if (process_ == ::getpid()) ::unlinkat(folder_, name_.c_str(), 0);
  ::close(file_);
}

void LoadMarker::enter_init() noexcept {
  const LoadMarker* const marker = current_marker;
  if (marker == nullptr || marker->process_ != ::getpid()) return;
  [[maybe_unused]] const ssize_t written =
      ::pwrite(marker->file_, kInit.data(), kInit.size(), kMarkerStart.size());
}

LoadMarker Quarantine::mark(const std::string& plugin, const std::string& path,
                            const FileStamp& stamp, const std::string& asked_by) {
  std::string name;
  int folder = -1;
  {
    const std::lock_guard lock(mutex_);
    if (!open_folder(true)) return {};
    folder = descriptor_;
    name = format_text("{}{}-{}", kMarkerPrefix, ::getpid(), ++next_number_);
  }
  const int file =
      ::openat(folder, name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return {};
  const std::string text = marker_text(plugin, path, stamp, asked_by);
  if (::write(file, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    ::unlinkat(folder, name.c_str(), 0);
    ::close(file);
    return {};
  }
  return {folder, std::move(name), file};
}

std::vector<LeftMarker> left_markers(const std::string& folder) {
  std::vector<LeftMarker> markers;
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (descriptor < 0) return markers;
  for (const std::string& name : names_in(descriptor)) {
    const auto numbers = numbers_of(name, kMarkerPrefix);
    const Json document =
        numbers ? parse_object(read_small(descriptor, name, kMostMarker)) : Json();
    if (document) markers.push_back(marker_of(name, *numbers, *document));
  }
  ::close(descriptor);
  std::ranges::sort(markers, {}, &LeftMarker::number);
  return markers;
}

// ---- the folder ----

Quarantine::Quarantine(std::string folder, std::string program)
    : folder_(std::move(folder)), program_(std::move(program)) {}

Quarantine::~Quarantine() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool Quarantine::open_folder(bool make) {
  if (descriptor_ >= 0) return true;
  if (refused_ || folder_.empty()) return false;
  if (make) {
    const std::filesystem::path state = std::filesystem::path(folder_).parent_path();
    // In another user's home, as sudo may leave it, nothing is made.
    struct stat nearest {};
    std::filesystem::path existing = folder_;
    while (::stat(existing.c_str(), &nearest) != 0 && existing.has_relative_path())
      existing = existing.parent_path();
    if (nearest.st_uid != ::geteuid()) {
      refused_ = true;
      return false;
    }
    ::mkdir(state.parent_path().c_str(), 0700);
    ::mkdir(state.c_str(), 0700);
    ::mkdir(folder_.c_str(), 0700);
  }
  descriptor_ = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  struct stat status {};
  if (descriptor_ >= 0 && ::fstat(descriptor_, &status) == 0 && status.st_uid == ::geteuid() &&
      (status.st_mode & 0022U) == 0)
    return true;
  refused_ = make || descriptor_ >= 0;
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  return false;
}

// Reads the folder again when it has changed.
void Quarantine::look() {
  struct stat status {};
  if (!open_folder(false) || ::fstat(descriptor_, &status) != 0) return;
  const int64_t changed = int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
  if (changed == looked_at_) return;
  looked_at_ = changed;
  suspects_.clear();
  records_.clear();
  for (const std::string& name : names_in(descriptor_)) {
    if (name.starts_with(kMarkerPrefix)) read_marker(name);
    if (name.starts_with(kRecordPrefix) && name.ends_with(kRecordSuffix)) read_record(name);
    const auto trial = numbers_of(name, kTrialPrefix);
    if (trial && trial->first != ::getpid() && ::kill(trial->first, 0) != 0 && errno == ESRCH) {
      std::error_code ignored;
      std::filesystem::remove_all(std::filesystem::path(folder_) / name, ignored);
    }
  }
}

void Quarantine::read_marker(const std::string& name) {
  const auto numbers = numbers_of(name, kMarkerPrefix);
  if (!numbers || numbers->first == ::getpid()) return;
  const Json document = parse_object(read_small(descriptor_, name, kMostMarker));
  if (!document) {
    // A temporary of a process that was killed while it wrote, or is writing.
    if (::kill(numbers->first, 0) != 0 && errno == ESRCH) ::unlinkat(descriptor_, name.c_str(), 0);
    return;
  }
  if (is_process_alive(numbers->first, *document)) return;
  LeftMarker marker = marker_of(name, *numbers, *document);
  // A trial cannot load bytes that are gone, or a load of another Tenon.
  if (text_in(*document, "host") != host_text() || is_replaced(marker)) {
    ::unlinkat(descriptor_, name.c_str(), 0);
    return;
  }
  suspects_.push_back(std::move(marker));
}

void Quarantine::read_record(const std::string& name) {
  const Json document = parse_object(read_small(descriptor_, name, kMostRecord));
  if (!document) return;
  QuarantineRecord record;
  record.plugin = text_in(*document, "plugin");
  record.path = text_in(*document, "path");
  record.sha256 = text_in(*document, "sha256");
  record.size = static_cast<uint64_t>(number_in(*document, "size"));
  record.host = text_in(*document, "host");
  record.phase = text_in(*document, "phase");
  record.asked_by = text_in(*document, "asked_by");
  record.ended = text_in(*document, "ended");
  if (record_name(record.sha256) != name) return;
  if (record.host != host_text()) {
    ::unlinkat(descriptor_, name.c_str(), 0);  // another Tenon may load it
    return;
  }
  records_.push_back(std::move(record));
}

const std::string& Quarantine::hash_of(const std::string& path, const FileStamp& stamp) {
  auto& [known, hash] = hashes_[path];
  if (hash.empty() || !(known == stamp)) {
    hash = sha256_file(path);
    known = stamp;
  }
  return hash;
}

// ---- what is kept out ----

PluginFailure Quarantine::failure_of(const QuarantineRecord& record,
                                     const std::string& path) const {
  PluginFailure failure;
  failure.stage = record.phase == kInit ? PluginStage::Init : PluginStage::Open;
  failure.plugin = record.plugin;
  failure.path = path;
  failure.problem = format_text(
      "it is in quarantine: a process ended while it was loaded{}{}, and so did a trial of it{}{}",
      record.asked_by.empty() ? "" : " for ", record.asked_by, record.ended.empty() ? "" : ", by ",
      record.ended);
  failure.remedy = format_text(
      "replace it, or try it again with `tenon plugins --retry {}`; what is known of it is in {}",
      record.plugin, quote(format_text("{}/{}", folder_, record_name(record.sha256))));
  failure.quarantined = true;
  return failure;
}

std::optional<PluginFailure> Quarantine::find(const std::string& path, const FileStamp& stamp) {
  const std::lock_guard lock(mutex_);
  look();
  for (const QuarantineRecord& record : records_) {
    if (record.size != stamp.size) continue;
    try {
      if (hash_of(path, stamp) == record.sha256) return failure_of(record, path);
    } catch (const Error&) {
      return std::nullopt;  // it cannot be read, which loading it will say
    }
  }
  return std::nullopt;
}

bool Quarantine::is_suspect(const std::string& path, const FileStamp& stamp) {
  const std::lock_guard lock(mutex_);
  if (looked_at_ == 0) look();  // once: every load changes the folder
  return std::ranges::any_of(suspects_, [&](const LeftMarker& marker) {
    return marker.path == path && same_bytes(marker.stamp, stamp);
  });
}

void Quarantine::settle(const std::string& path, const FileStamp& stamp, const tenon_json& config) {
  std::vector<LeftMarker> markers;
  std::string trial_folder;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(suspects_, [&](const LeftMarker& marker) {
      const bool found = marker.path == path && same_bytes(marker.stamp, stamp);
      if (found) markers.push_back(marker);
      return found;
    });
    if (markers.empty() || program_.empty()) return;
    trial_folder = format_text("{}/{}{}-{}", folder_, kTrialPrefix, ::getpid(), ++next_number_);
  }
  TrialEnd end;
  try {
    end = run_trial(program_, trial_folder, config, kTrialSeconds);
  } catch (const Error& error) {
    log(LogLevel::warning, markers.front().plugin,
        format_text("no trial of it can be made: {}", error.message));
    return;
  }
  if (!end.finished || end.markers.empty()) {
    log(LogLevel::info, markers.front().plugin,
        format_text("process {} ended while it loaded this plugin; a trial {}",
                    markers.front().process,
                    end.finished ? "loaded it without a fault" : "was stopped"));
  }
  std::optional<QuarantineRecord> record = record_of(std::move(end));
  // The trial loads it by its name: who needed it is known of the process before.
  if (record && record->path == path) record->asked_by = markers.front().asked_by;
  if (record) add(*record);
  // Last: the suspicion of a process that ends before is for the next one to settle.
  for (const LeftMarker& marker : markers) ::unlinkat(descriptor_, marker.file.c_str(), 0);
  if (record && record->path == path) throw PluginError(failure_of(*record, path));
}

void Quarantine::add(const QuarantineRecord& record) {
  write_file(format_text("{}/{}", folder_, record_name(record.sha256)), record_text(record));
  const std::lock_guard lock(mutex_);
  looked_at_ = 0;
}

int64_t Quarantine::release(const std::string& id) {
  const std::lock_guard lock(mutex_);
  look();
  int64_t count = 0;
  for (const QuarantineRecord& record : records_) {
    if (record.plugin != id) continue;
    ::unlinkat(descriptor_, record_name(record.sha256).c_str(), 0);
    ++count;
  }
  looked_at_ = 0;
  return count;
}

}  // namespace tenon::core
