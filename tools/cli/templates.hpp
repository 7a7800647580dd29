// The plugin project that `tenon new` writes, kept inside the program.
#pragma once

#include <string_view>

namespace cli {

// In a path and a text @NAME@ stands for the plugin's name, in a text @SOURCE@ for its source and
// @LANGUAGES@ for the languages of its project.
struct Template {
  std::string_view path;  // in the project
  std::string_view text;
};
inline constexpr std::string_view kSourceOfC = "@NAME@.c", kSourceOfCxx = "@NAME@.cpp";

inline constexpr int kTemplateCount = 6;
extern const Template kTemplates[kTemplateCount];

}  // namespace cli
