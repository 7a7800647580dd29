// Parts that all pages of the catalogue share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <tenon/json.hpp>

namespace cli {

// The files of style.css and search.js.
extern const std::string_view kStyleSheet, kSearchScript;

// "ops/relu.html": characters that a file or an address would not take are written as -2f-.
std::string page_file(std::string_view kind, std::string_view name);
// A link, whose text may be broken behind a point or an underscore, from a page in a folder of a kind, or with `root` empty from one beside index.html.
std::string page_link(std::string_view root, std::string_view kind, std::string_view name);

// A whole document. `root`: "../" in a folder of a kind, else "". `body` is markup, `title` is not.
std::string page(const std::string& title, std::string_view root, const std::string& body);

// Markup of a text in which `names in backquotes` are code.
std::string prose(std::string_view text);
std::string code(std::string_view text);

// A table whose cells are markup; rows without a cell that is not empty are left out.
class HtmlTable {
 public:
  explicit HtmlTable(std::vector<std::string> head) : head_(std::move(head)) {}
  void add(const std::vector<std::string>& cells);
  // With `attributes` of the table; empty without rows.
  std::string text(std::string_view attributes = "") const;
  // With a title and the number of rows, which a reader opens unless it is open.
  std::string section(std::string_view title, bool open, std::string_view attributes = "") const;

 private:
  int64_t count_ = 0;
  std::vector<std::string> head_;
  std::string rows_;
};

// "name, type, default, how it is given" of a parsed schema.
std::string parameter_table(const tenon::Json& parameters);
// "math, chosen" with links to the plugins, in their order.
std::string provider_table(const tenon::Json& providers);

}  // namespace cli
