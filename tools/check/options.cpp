// The members of the options, for writing and for reading them as words.
#include "options.hpp"

#include "option_words.hpp"

namespace cli {

template <class Options, class Visitor>
static void visit_members(Options& options, Visitor& visit) {
  visit("plugin", options.plugin);
  visit("op", options.item);
  visit_session(options.session, visit);
  visit("memory", options.memory);
  visit("seed", options.seed);
  visit("check", options.options);
  visit("samples", options.samples);
  visit("against", options.against);
  if constexpr (std::is_same_v<std::remove_const_t<Options>, CheckOptions>) {
    visit("timeout", options.timeout);
    visit("html", options.page);
    visit("in-process", options.in_process);
    visit("json", options.json);
  } else {
    visit("first", options.first);
    visit("folder", options.folder);
    visit("record", options.record);
  }
}

std::vector<std::string> words_of(const CheckOptions& options) { return words_of_options(options); }
std::vector<std::string> words_of(const WorkerOptions& options) {
  return words_of_options(options);
}

CheckOptions read_check_options(const std::vector<std::string>& words) {
  return options_of_words<CheckOptions>("tenon-check", words);
}
WorkerOptions read_worker_options(const std::vector<std::string>& words) {
  return options_of_words<WorkerOptions>("tenon-check", words);
}

}  // namespace cli
