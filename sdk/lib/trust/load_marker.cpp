// Markers are JSON objects whose phase is overwritten in place.
#include "load_marker.hpp"

#include <algorithm>
#include <fcntl.h>
#include <string_view>
#include <tuple>
#include <unistd.h>

#include "file.hpp"
#include "folder_file.hpp"
#include "process_name.hpp"

TENON_NAMESPACE_BEGIN

namespace trust {

namespace {

// The phase comes first and both have one length, so that it is changed by one write in place.
constexpr std::string_view kMarkerStart = R"({"phase":")";
constexpr std::string_view kOpen = "open", kInit = "init";

}  // namespace

LoadMarker::LoadMarker(int folder, std::string name, int file)
    : folder_(folder), name_(std::move(name)), file_(file), process_(::getpid()) {}

LoadMarker::~LoadMarker() {
  if (file_ < 0) return;
  if (is_own()) ::unlinkat(folder_, name_.c_str(), 0);
  ::close(file_);
}

bool LoadMarker::is_own() const { return process_ == ::getpid(); }

void LoadMarker::enter_init() noexcept {
  if (file_ < 0 || !is_own()) return;
  [[maybe_unused]] const ssize_t written =
      ::pwrite(file_, kInit.data(), kInit.size(), static_cast<off_t>(kMarkerStart.size()));
}

std::string marker_text(const std::string& plugin, const std::string& path,
                        const tenon_file_stamp& stamp, const std::string& asked_by) {
  const ProcessName own = ProcessName::own();
  return JsonObject()
      .set("phase", kOpen)
      .set("plugin", plugin)
      .set("path", path)
      .set("asked_by", asked_by)
      .set("device", static_cast<int64_t>(stamp.device))
      .set("inode", static_cast<int64_t>(stamp.inode))
      .set("size", static_cast<int64_t>(stamp.size))
      .set("modified", stamp.modified)
      .set("changed", stamp.changed)
      .set("host", host_text())
      .set("boot", own.boot)
      .set("space", own.space)
      .set("start", own.start)
      .json()
      .dump();
}

LeftMarker marker_of(const std::string& name, const std::pair<int, int64_t>& numbers,
                     const Json& document) {
  const auto number = [&](const char* key) {
    return document[key].is_number() ? document[key].integer() : int64_t{0};
  };
  LeftMarker marker;
  marker.file = name;
  std::tie(marker.process, marker.number) = numbers;
  marker.plugin = document["plugin"].text();
  marker.path = document["path"].text();
  marker.phase = document["phase"].text();
  marker.asked_by = document["asked_by"].text();
  marker.stamp = {static_cast<uint64_t>(number("device")), static_cast<uint64_t>(number("inode")),
                  static_cast<uint64_t>(number("size")), number("modified"), number("changed")};
  return marker;
}

bool is_writer_alive(const LeftMarker& marker, const Json& document) {
  return ProcessName{marker.process, document["boot"].text(), document["space"].text(),
                     document["start"].text()}
      .is_alive();
}

std::vector<LeftMarker> left_markers(const std::string& folder) {
  std::vector<LeftMarker> markers;
  const Descriptor descriptor(
      ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (descriptor.number() < 0) return markers;
  for (const std::string& name : names_in(descriptor.number())) {
    const auto numbers = numbers_of(name, kMarkerPrefix);
    if (!numbers) continue;
    const Json document = parse_object(read_small(descriptor.number(), name, kMostMarker));
    if (document.defined()) markers.push_back(marker_of(name, *numbers, document));
  }
  std::sort(markers.begin(), markers.end(),
            [](const LeftMarker& a, const LeftMarker& b) { return a.number < b.number; });
  return markers;
}

}  // namespace trust

TENON_NAMESPACE_END
