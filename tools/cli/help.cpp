// Usage lines and tables of options.
#include "help.hpp"

#include <algorithm>
#include <sstream>
#include <utility>

#include <tenon/abi/version.h>

#include "format.hpp"
#include "terminal.hpp"
#include "text.hpp"

namespace cli {

namespace {

constexpr size_t kHelpWidth = 80;
constexpr size_t kMeaningColumn = 28;

// A name, and its meaning in the second column; below the name where that is too long.
std::string row(const std::string& name, const std::string& meaning) {
  const size_t width = line_width(kHelpWidth);
  const size_t column = std::min(kMeaningColumn, width / 3);
  std::string head = format_text("  {}", name);
  const std::string text = wrapped(meaning, column, width);
  if (static_cast<size_t>(display_width(head)) + 2 > column)
    return format_text("{}\n{}", head, text);
  head.append(column - head.size(), ' ');
  return format_text("{}{}", head, text.substr(std::min(column, text.size())));
}

// Text of man(7): what begins with a dot or a quote is not a request, and hyphens are those of options.
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (out.empty() || out.back() == '\n') {
      if (c == '.' || c == '\'') out += "\\&";
    }
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
  }
  return out;
}

std::string roff_options(const CLI::App& app, bool positional, const HelpFormatter& formatter) {
  std::string out;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional() != positional || option->get_group().empty()) continue;
    out += format_text(".TP\n.B {}{}\n{}\n", roff(formatter.make_option_name(option, positional)),
                       roff(formatter.make_option_opts(option)), roff(option->get_description()));
  }
  return out;
}

}  // namespace

std::string first_steps() {
  return "Usage: tenon [OPTIONS] COMMAND\n"
         "\n"
         "What people do first:\n"
         "  tenon ops conv               find an op by a word of its name\n"
         "  tenon show conv2d            read about an op, module, tensor type or plugin\n"
         "  tenon call add 1 2           call an op with numbers, lists or files\n"
         "  tenon new hello              write a plugin project that builds\n"
         "  tenon new my_model --config  write a config, which `tenon run` trains\n"
         "\n"
         "`tenon --help` lists all commands and options, `tenon help TOPIC` explains\n"
         "configs, schemas, types, environment, output or exit-codes.\n";
}

std::string manual_page(const CLI::App& app) {
  const HelpFormatter formatter;
  const bool whole = app.get_parent() == nullptr;
  const std::string name = whole ? "tenon" : format_text("tenon-{}", app.get_name());
  std::string usage = formatter.make_usage(&app, "");
  usage = usage.substr(usage.find(' ') + 1);
  std::string out =
      format_text(".TH {} 1 \"\" \"tenon {}.{}.{}\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n.B {}",
                  roff(name), TENON_VERSION_MAJOR, TENON_VERSION_MINOR, TENON_VERSION_PATCH,
                  roff(name), roff(app.get_description()), roff(usage));
  if (const std::string arguments = roff_options(app, true, formatter); !arguments.empty())
    out += format_text(".SH ARGUMENTS\n{}", arguments);
  if (const std::string options = roff_options(app, false, formatter); !options.empty())
    out += format_text(".SH OPTIONS\n{}", options);
  if (whole) {
    out += ".SH COMMANDS\n";
    for (const CLI::App* command : app.get_subcommands({})) {
      if (!command->get_group().empty())
        out += format_text(".TP\n.BR tenon\\-{} (1)\n{}\n", roff(command->get_name()),
                           roff(command->get_description()));
    }
  }
  bool examples = false;
  std::istringstream lines(app.get_footer());
  for (std::string line; std::getline(lines, line);) {
    if (line == "Examples:") {
      out += ".SH EXAMPLES\n";
      continue;
    }
    const bool example = line.starts_with(" ");
    if (example != examples) out += example ? ".nf\n" : ".fi\n.PP\n";
    examples = example;
    out += format_text("{}\n", roff(example ? line.substr(2) : line));
  }
  if (examples) out += ".fi\n";
  return out + (whole ? "" : ".SH SEE ALSO\n.BR tenon (1)\n");
}

HelpFormatter::HelpFormatter() { label("Positionals", "Arguments"); }

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

std::string HelpFormatter::make_option(const CLI::Option* option, bool positional) const {
  return row(format_text("{}{}", make_option_name(option, positional), make_option_opts(option)),
             make_option_desc(option));
}

std::string HelpFormatter::make_subcommand(const CLI::App* command) const {
  return row(command->get_name(), command->get_description());
}

std::string HelpFormatter::make_description(const CLI::App* app) const {
  return wrapped(app->get_description(), 0, line_width(kHelpWidth));
}

// Examples, which are indented, and sentences.
std::string HelpFormatter::make_footer(const CLI::App* app) const {
  std::string out;
  std::istringstream lines(app->get_footer());
  for (std::string line; std::getline(lines, line);)
    out += line.starts_with(" ") ? format_text("{}\n", line)
                                 : wrapped(line, 0, line_width(kHelpWidth));
  return out;
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
