// The program tenon-catalogue, which `tenon catalogue` and `tenon graph` become.
#include <string>
#include <vector>

#include "catalogue.hpp"
#include "exit_code.hpp"
#include "graph.hpp"
#include "options.hpp"
#include "program.hpp"
#include "report_page.hpp"
#include "sample_results.hpp"

namespace {

int run(const std::vector<std::string>& words) {
  const std::string mode = words.empty() ? "" : words.front();
  const std::vector<std::string> rest(words.begin() + (words.empty() ? 0 : 1), words.end());
  if (mode == "catalogue") {
    const cli::CatalogueOptions options = cli::read_catalogue_options(rest);
    cli::apply_session(options.session);
    return cli::write_catalogue(options);
  }
  if (mode == "graph") {
    const cli::GraphOptions options = cli::read_graph_options(rest);
    cli::apply_session(options.session);
    return cli::draw_graph(options);
  }
  if (mode == "report") return cli::write_report(cli::read_report_options(rest));
  if (mode == "samples") {
    const cli::SampleRunOptions options = cli::read_sample_run_options(rest);
    cli::apply_session(options.session);
    return cli::run_samples(options);
  }
  throw cli::UsageError(
      "tenon-catalogue is started by `tenon catalogue` and `tenon graph`; see their --help");
}

}  // namespace

int main(int count, char** arguments) {
  return cli::run_program(
      [=] { return run(std::vector<std::string>(arguments + 1, arguments + count)); });
}
