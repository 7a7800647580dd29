// The text of markers, for the quarantine that writes and reads them.
#pragma once

#include <string>
#include <utility>

#include <tenon/json.hpp>
#include <tenon/trust/load_marker.hpp>

TENON_NAMESPACE_BEGIN

namespace trust {

std::string marker_text(const std::string& plugin, const std::string& path,
                        const tenon_file_stamp& stamp, const std::string& asked_by);
LeftMarker marker_of(const std::string& name, const std::pair<int, int64_t>& numbers,
                     const Json& document);
// Whether the process that wrote it runs.
bool is_writer_alive(const LeftMarker& marker, const Json& document);

}  // namespace trust

TENON_NAMESPACE_END
