// Facts about all that is installed, as the pages need them: read once.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <tenon/json.hpp>

#include "options.hpp"
#include "sample_results.hpp"

namespace cli {

// How an op is handled for one type, or run by a transform.
struct Handled {
  std::string how, by;
};

struct CatalogueFacts {
  std::vector<tenon::Json> ops, modules, types, plugins;  // members of listings, in full; by name
  std::vector<std::string> type_names;                    // columns of the matrix
  std::map<std::string, std::map<std::string, Handled>> by_type;  // type, op
  std::map<std::string, Handled> by_vmap;                         // op
  SampleResults samples;
  std::map<std::string, std::string> hashes;  // SHA-256 of plugins' files, by id
  std::map<std::string, std::string> faults;  // types that could not be looked at, with the reason
};

// Loads the plugins of types, and of ops whose facts do not say how vmap runs them; samples run in children,
// which find plugins that do not load.
CatalogueFacts read_catalogue_facts(const CatalogueOptions& options);

}  // namespace cli
