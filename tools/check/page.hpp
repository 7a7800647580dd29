// The report of a check as a page: ops and modules by stages, and every finding in full.
#pragma once

#include <string>

#include "report.hpp"

namespace cli {

// One HTML document without scripts or other files, for light and dark screens.
std::string report_page(const CheckReport& report);
// Writes it; the file is replaced as a whole. Throws tenon::IOError.
void write_page(const std::string& path, const CheckReport& report);

}  // namespace cli
