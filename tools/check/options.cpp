// Options as words: each struct names its members once, for writing and for reading.
#include "options.hpp"

#include <charconv>
#include <string_view>
#include <type_traits>

#include "exit_code.hpp"
#include "format.hpp"

namespace cli {

namespace {

template <class Session, class Visitor>
void visit_session(Session& session, Visitor& visit) {
  visit("plugin-path", session.plugin_paths);
  visit("trust", session.trusted);
  visit("no-autoload", session.no_autoload);
  visit("threads", session.threads);
}

template <class Options, class Visitor>
void visit_members(Options& options, Visitor& visit) {
  visit("plugin", options.plugin);
  visit("op", options.item);
  visit_session(options.session, visit);
  visit("memory", options.memory);
  visit("seed", options.seed);
  visit("check", options.options);
  visit("samples", options.samples);
  visit("against", options.against);
  if constexpr (std::is_same_v<std::remove_const_t<Options>, CheckOptions>) {
    visit("timeout", options.timeout);
    visit("html", options.page);
    visit("in-process", options.in_process);
    visit("json", options.json);
  } else {
    visit("first", options.first);
    visit("folder", options.folder);
    visit("record", options.record);
  }
}

struct Writer {
  std::vector<std::string> words;

  void operator()(const char* name, const std::string& text) {
    if (!text.empty()) words.push_back(format_text("{}={}", name, text));
  }
  void operator()(const char* name, const std::vector<std::string>& texts) {
    for (const std::string& text : texts) words.push_back(format_text("{}={}", name, text));
  }
  void operator()(const char* name, bool yes) {
    if (yes) words.push_back(format_text("{}=yes", name));
  }
  template <class Number, class = std::enable_if_t<std::is_arithmetic_v<Number>>>
  void operator()(const char* name, Number number) {
    char digits[32];
    const char* const end = std::to_chars(digits, digits + sizeof digits, number).ptr;
    words.push_back(format_text("{}={}", name, std::string_view(digits, end)));
  }
};

// Takes the value of one word to the member of its name.
struct Reader {
  std::string_view name, value;
  bool known = false;

  void operator()(std::string_view member, std::string& text) {
    if (names(member)) text = value;
  }
  void operator()(std::string_view member, std::vector<std::string>& texts) {
    if (names(member)) texts.emplace_back(value);
  }
  void operator()(std::string_view member, bool& yes) {
    if (names(member)) yes = value == "yes";
  }
  template <class Number, class = std::enable_if_t<std::is_arithmetic_v<Number>>>
  void operator()(std::string_view member, Number& number) {
    if (!names(member)) return;
    const char* const end = value.data() + value.size();
    const auto [stop, fault] = std::from_chars(value.data(), end, number);
    known = fault == std::errc() && stop == end;
  }
  bool names(std::string_view member) { return member == name && (known = true); }
};

template <class Options>
std::vector<std::string> write(const Options& options) {
  Writer writer;
  visit_members(options, writer);
  return std::move(writer.words);
}

template <class Options>
Options read(const std::vector<std::string>& words) {
  Options options;
  for (const std::string_view word : words) {
    const size_t end = word.find('=');
    Reader reader{word.substr(0, end), end == word.npos ? "" : word.substr(end + 1)};
    visit_members(options, reader);
    if (!reader.known)
      throw UsageError(
          format_text("tenon-check: '{}' is not an option of it; use `tenon check`", word));
  }
  return options;
}

}  // namespace

std::vector<std::string> words_of(const CheckOptions& options) { return write(options); }
std::vector<std::string> words_of(const WorkerOptions& options) { return write(options); }

CheckOptions read_check_options(const std::vector<std::string>& words) {
  return read<CheckOptions>(words);
}
WorkerOptions read_worker_options(const std::vector<std::string>& words) {
  return read<WorkerOptions>(words);
}

}  // namespace cli
