// tenon run --report: the page of a run, made of its document (tools/cli/run_report.cpp).
#pragma once

#include <string>

#include <tenon/json.hpp>

#include "options.hpp"

namespace cli {

// One file, without scripts, that refers to nothing else.
std::string report_page(const tenon::Json& document);
// Reads the document, writes the page as a whole; returns the exit code.
int write_report(const ReportOptions& options);

}  // namespace cli
