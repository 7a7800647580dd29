// The catalogue: all that is installed, as pages that need no network, no server and no script.
//
//   index.html        ops by namespace, modules, types and plugins; a search, where scripts run
//   matrix.html       ops by tensor types and devices: who answers, falls back, or is missing
//   ops/NAME.html     schema, document, providers, gradients, rules, types, formats, samples with their results
//   modules/, types/, plugins/
//
// facts.hpp reads what is installed, once; each *_page.cpp makes the pages of a kind of it; html.hpp has what
// they share, and style.css and search.js are put into the program by CMake.
#pragma once

#include "options.hpp"

namespace cli {

// Writes the folder as a whole: beside its place first, then in place of a catalogue that was there. Throws
// ValueError where something else is there, and IOError.
int write_catalogue(const CatalogueOptions& options);

}  // namespace cli
