// The guides that are installed with this program.
#pragma once

#include <string>

namespace cli {

// "Guides: FOLDER/tutorial.md, how_to", as a line; empty where they are not installed, as in a build folder.
std::string guides_line();

}  // namespace cli
