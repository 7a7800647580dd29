// Commands and options as CLI11 has them.
#include "command.hpp"

#include <charconv>
#include <filesystem>
#include <type_traits>
#include <utility>

#include <CLI/CLI.hpp>

#include "format.hpp"
#include "text.hpp"

namespace cli {

std::string marked_word(std::string_view word) { return format_text("{}{}", kWordMark, word); }

std::string unmarked_word(const std::string& word) {
  return word.starts_with(kWordMark) ? word.substr(1) : word;
}

namespace {

std::string check_not_empty(const std::string& text) { return text.empty() ? "it is empty" : ""; }

std::string check_file(const std::string& path) {
  return std::filesystem::is_regular_file(path) ? ""
                                                : format_text("'{}' is not an existing file", path);
}

CLI::Option* describe(CLI::Option* option, const char* placeholder, const char* meaning) {
  option->description(meaning)->type_name(placeholder);
  if (*meaning == '\0') option->group("");
  return option;
}

CLI::Option* add_text(CLI::App& app, const std::string& names, std::string& value,
                      const char* placeholder, const char* meaning) {
  return describe(app.add_option(names, value)->check(check_not_empty)->transform(unmarked_word),
                  placeholder, meaning);
}

template <class T>
struct ValueOf {
  using type = T;
};
template <class T>
struct ValueOf<std::optional<T>> {
  using type = T;
};

std::function<std::string(std::string)> whole_number(int64_t low, int64_t high) {
  return [low, high](const std::string& text) -> std::string {
    int64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, fault] = std::from_chars(text.data(), end, number);
    if (fault == std::errc() && stop == end && number >= low && number <= high) return "";
    return format_text("'{}' is not a whole number from {} to {}", text, low, high);
  };
}

}  // namespace

void Command::argument(std::string& value, const char* placeholder, const char* meaning) {
  if (app_ == nullptr) return;
  add_text(*app_, lower(placeholder), value, placeholder, meaning)->required();
}

void Command::optional_argument(std::string& value, const char* placeholder, const char* meaning) {
  if (app_ == nullptr) return;
  add_text(*app_, lower(placeholder), value, placeholder, meaning);
}

void Command::arguments(std::vector<std::string>& values, const char* placeholder,
                        const char* meaning) {
  if (app_ == nullptr) return;
  describe(app_->add_option(lower(placeholder), values)->required()->transform(unmarked_word),
           placeholder, meaning);
}

void Command::optional_arguments(std::vector<std::string>& values, const char* placeholder,
                                 const char* meaning) {
  if (app_ == nullptr) return;
  describe(app_->add_option(lower(placeholder), values)->transform(unmarked_word), placeholder,
           meaning);
}

void Command::flag(const char* names, bool& value, const char* meaning) {
  if (app_ == nullptr) return;
  CLI::Option* const option = app_->add_flag(names, value, meaning)->disable_flag_override();
  if (*meaning == '\0') option->group("");
}

void Command::option(const char* names, std::string& value, const char* placeholder,
                     const char* meaning) {
  if (app_ == nullptr) return;
  add_text(*app_, names, value, placeholder, meaning);
}

void Command::required_option(const char* names, std::string& value, const char* placeholder,
                              const char* meaning) {
  if (app_ == nullptr) return;
  add_text(*app_, names, value, placeholder, meaning)->required();
}

void Command::existing_file(const char* names, std::string& value, const char* placeholder,
                            const char* meaning) {
  if (app_ == nullptr) return;
  add_text(*app_, names, value, placeholder, meaning)->check(check_file);
}

void Command::list(const char* names, std::vector<std::string>& values, const char* placeholder,
                   const char* meaning) {
  if (app_ == nullptr) return;
  CLI::Option* const option =
      app_->add_option(names, values)->check(check_not_empty)->transform(unmarked_word);
  describe(option->delimiter(',')->allow_extra_args(false), placeholder, meaning);
}

template <class Number>
void Command::number(const char* names, Number& value, double low, double high,
                     const char* placeholder, const char* meaning) {
  if (app_ == nullptr) return;
  CLI::Option* const option =
      app_->add_option(names, value)->check(check_not_empty)->transform(unmarked_word);
  if constexpr (std::is_floating_point_v<typename ValueOf<Number>::type>)
    option->check(CLI::Range(low, high).description(""));
  else
    option->check(whole_number(static_cast<int64_t>(low), static_cast<int64_t>(high)));
  describe(option, placeholder, meaning);
}
template void Command::number(const char*, int&, double, double, const char*, const char*);
template void Command::number(const char*, int64_t&, double, double, const char*, const char*);
template void Command::number(const char*, uint64_t&, double, double, const char*, const char*);
template void Command::number(const char*, double&, double, double, const char*, const char*);
template void Command::number(const char*, std::optional<int64_t>&, double, double, const char*,
                              const char*);
template void Command::number(const char*, std::optional<uint64_t>&, double, double, const char*,
                              const char*);

void Command::exclude(const char* one, const char* other) {
  if (app_ == nullptr) return;
  app_->get_option(one)->excludes(app_->get_option(other));
}

Command Commands::add_command(const char* name, const char* summary, const char* examples,
                              Function function) {
  CLI::App* const app = program_->add_subcommand(name, summary);
  app->group(*summary == '\0' ? "" : group_);
  if (!with_all_ && word_ != name) return Command(nullptr);
  app->footer(format_text("Examples:\n{}", examples));
  app->callback([this, kept = std::move(function)] { chosen_ = kept; });
  return Command(app);
}

}  // namespace cli
