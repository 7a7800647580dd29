// Guides beside the program: share/tenon/sdk/docs of the prefix that it is installed in.
#include "guides.hpp"

#include <filesystem>

#include "format.hpp"
#include "text.hpp"

namespace cli {

std::string guides_line() {
  std::error_code fault;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", fault);
  const std::filesystem::path guides = program.parent_path().parent_path() / "share/tenon/sdk/docs";
  if (fault || !std::filesystem::exists(guides / "tutorial.md", fault)) return "";
  return format_text("guides: {}, and how_to beside it\n", (guides / "tutorial.md").string());
}

}  // namespace cli
