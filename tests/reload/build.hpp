// Builds of the fixture `generation`, and how one takes the place of another in a folder.
#pragma once

#include <filesystem>
#include <string>

namespace generation {

inline std::string build_file(const std::string& build) {
  return std::string(TENON_FIXTURES) + "/generations/generation_" + build + ".so";
}

// As a linker does it: another file under the same name.
inline void install_in(const std::string& folder, const std::string& build) {
  std::filesystem::copy_file(build_file(build), folder + "/next",
                             std::filesystem::copy_options::overwrite_existing);
  std::filesystem::rename(folder + "/next", folder + "/generation.so");
}

}  // namespace generation
