// tenon catalogue: continues as the program tenon-catalogue.
#include "catalogue/options.hpp"
#include "commands.hpp"
#include "continue_as.hpp"

namespace cli {

namespace {

int write_catalogue(const CatalogueOptions& given, const SessionOptions& session) {
  CatalogueOptions options = given;
  options.session = session;
  continue_as("tenon-catalogue", "tenon_catalogue", "catalogue", words_of(options));
}

}  // namespace

void define_catalogue(Commands& commands) {
  auto [command, options] = commands.add(
      write_catalogue, "catalogue",
      "Write what is installed as pages: ops, modules, types and plugins, with a search",
      "  tenon catalogue\n"
      "  tenon catalogue --output site\n"
      "  tenon --plugin-path build catalogue --output /tmp/site\n"
      "The pages need no network and no server: open index.html. Samples of ops run in child "
      "processes, with their results on the op's page; an op whose samples crash, or run for 10 "
      "seconds, has that on its page, and a plugin that does not load is shown as failed. A folder "
      "that is a catalogue already is replaced as a whole, any other is left alone.");
  command.option("-o,--output", options.output, "DIR", "The folder; `site` if not given");
  command.flag("--no-samples", options.no_samples,
               "Run no samples; whether each plugin loads is still tried");
}

}  // namespace cli
