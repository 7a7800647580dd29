// Usage lines and tables of options.
#include "help.hpp"

#include <utility>

#include "format.hpp"

namespace cli {

HelpFormatter::HelpFormatter() {
  column_width(28);
  label("Positionals", "Arguments");
}

std::string HelpFormatter::make_usage(const CLI::App* app, std::string) const {
  if (app->get_parent() == nullptr) return "Usage: tenon [OPTIONS] COMMAND\n";
  std::string text = format_text("Usage: tenon {} [OPTIONS]", app->get_name());
  for (const CLI::Option* option : app->get_options()) {
    if (!option->get_positional()) continue;
    const std::string name = make_option_name(option, true);
    text += option->get_required() ? format_text(" {}", name) : format_text(" [{}]", name);
  }
  return format_text("{}\n", text);
}

std::string HelpFormatter::make_option_name(const CLI::Option* option, bool positional) const {
  if (!positional) return option->get_name(false, true);
  return format_text("{}{}", option->get_type_name(), option->get_expected_max() > 1 ? "..." : "");
}

std::string HelpFormatter::make_option_opts(const CLI::Option* option) const {
  const bool named = !option->get_positional() && option->get_expected_max() > 0;
  return named ? format_text(" {}", option->get_type_name()) : "";
}

std::string HelpFormatter::make_help(const CLI::App* app, std::string name,
                                     CLI::AppFormatMode mode) const {
  std::string text = CLI::Formatter::make_help(app, std::move(name), mode);
  // Options that are not listed leave a blank line.
  for (size_t at = text.find("\n\n\n"); at != text.npos; at = text.find("\n\n\n"))
    text.erase(at, 1);
  return text;
}

}  // namespace cli
