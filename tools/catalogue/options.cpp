// The members of the options, for writing and for reading them as words.
#include "catalogue/options.hpp"

#include "option_words.hpp"

namespace cli {

template <class Visitor>
static void visit_members(ReportOptions& options, Visitor& visit) {
  visit("document", options.document);
  visit("output", options.output);
}

template <class Options, class Visitor>
static void visit_members(Options& options, Visitor& visit) {
  visit_session(options.session, visit);
  if constexpr (std::is_same_v<std::remove_const_t<Options>, CatalogueOptions>) {
    visit("output", options.output);
    visit("no-samples", options.no_samples);
  } else if constexpr (std::is_same_v<std::remove_const_t<Options>, GraphOptions>) {
    visit("config", options.config);
    visit("input", options.inputs);
    visit("expand", options.expand);
    visit("output", options.output);
    visit("backward", options.backward);
    visit("prepared", options.prepared);
  } else {
    visit("plugin", options.plugin);
    visit("first", options.first);
    visit("results", options.results);
    visit("folder", options.folder);
    visit("only-load", options.only_load);
  }
}

std::vector<std::string> words_of(const CatalogueOptions& options) {
  return words_of_options(options);
}
std::vector<std::string> words_of(const GraphOptions& options) { return words_of_options(options); }
std::vector<std::string> words_of(const SampleRunOptions& options) {
  return words_of_options(options);
}

CatalogueOptions read_catalogue_options(const std::vector<std::string>& words) {
  return options_of_words<CatalogueOptions>("tenon-catalogue", words);
}
ReportOptions read_report_options(const std::vector<std::string>& words) {
  return options_of_words<ReportOptions>("tenon-catalogue", words);
}
GraphOptions read_graph_options(const std::vector<std::string>& words) {
  return options_of_words<GraphOptions>("tenon-catalogue", words);
}
SampleRunOptions read_sample_run_options(const std::vector<std::string>& words) {
  return options_of_words<SampleRunOptions>("tenon-catalogue", words);
}

}  // namespace cli
