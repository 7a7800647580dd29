// Options of what tenon-catalogue does: `tenon catalogue`, the child processes that run samples for it, `tenon graph`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "program.hpp"

namespace cli {

struct CatalogueOptions {
  std::string output = "site";
  SessionOptions session;
  bool no_samples = false;
};

// tenon graph.
struct GraphOptions {
  std::string config;               // or the file of a model
  std::vector<std::string> inputs;  // values of --input
  std::vector<std::string> expand;  // patterns of modules
  std::string output;               // empty: standard output
  SessionOptions session;
  bool backward = false, prepared = false;
};

// A child, which makes the page of tenon run --report.
struct ReportOptions {
  std::string document;  // file
  std::string output;    // the page
};

// A child, which loads one plugin, and runs the samples of its ops.
struct SampleRunOptions {
  std::string plugin;   // id
  int64_t first = 0;    // ops before this one have been tried
  std::string results;  // file that gets a line for each op, see sample_results.hpp
  std::string folder;   // for files of samples
  SessionOptions session;
  bool only_load = false;  // without samples
};

std::vector<std::string> words_of(const CatalogueOptions& options);
std::vector<std::string> words_of(const GraphOptions& options);
std::vector<std::string> words_of(const SampleRunOptions& options);
// Throw UsageError where a word is not one of these.
CatalogueOptions read_catalogue_options(const std::vector<std::string>& words);
ReportOptions read_report_options(const std::vector<std::string>& words);
GraphOptions read_graph_options(const std::vector<std::string>& words);
SampleRunOptions read_sample_run_options(const std::vector<std::string>& words);

}  // namespace cli
