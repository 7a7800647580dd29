// The plugin project that `tenon new` writes, kept inside the program.
#pragma once

#include <string_view>

namespace cli {

struct Template {
  std::string_view
      path;  // in the project; @NAME@ stands for the plugin's name, here and in the text
  std::string_view text;
};

inline constexpr int kTemplateCount = 5;
extern const Template kTemplates[kTemplateCount];

}  // namespace cli
