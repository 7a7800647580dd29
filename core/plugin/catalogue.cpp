// The catalogue is what the last scan has found.
#include "core/plugin/catalogue.hpp"

#include <utility>

namespace tenon::core {

void Catalogue::rescan(const Search& search) {
  std::vector<const FoundPlugin*> known;
  for (const FoundPlugin& plugin : found_.plugins) known.push_back(&plugin);
  found_ =
      discover_plugins(search.files, search_folders(search.configured, environment_, search.added),
                       search.trust, known, search.named);
  is_current_ = true;
}

}  // namespace tenon::core
