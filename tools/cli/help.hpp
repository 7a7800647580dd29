// Help in this program's words.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace cli {

// Text that `tenon` alone prints: commands that people begin with.
std::string first_steps();
// The manual page of the program, or of one of its commands, which has its options defined, as man(7) has it.
std::string manual_page(const CLI::App& app);

class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter();
  std::string make_usage(const CLI::App* app, std::string name) const override;
  std::string make_option_name(const CLI::Option* option, bool positional) const override;
  std::string make_option_opts(const CLI::Option* option) const override;
  std::string make_option(const CLI::Option* option, bool positional) const override;
  std::string make_subcommand(const CLI::App* command) const override;
  std::string make_description(const CLI::App* app) const override;
  std::string make_footer(const CLI::App* app) const override;
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override;
};

}  // namespace cli
