// Documents, links and tables.
#include "html.hpp"

#include <algorithm>

#include "format.hpp"
#include "text.hpp"

namespace cli {

using tenon::Json;

std::string page_file(std::string_view kind, std::string_view name) {
  std::string file;
  for (const char c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '_' || (c == '.' && !file.empty());
    if (plain)
      file += c;
    else
      file += format_text("-{:02x}-", static_cast<unsigned char>(c));
  }
  return format_text("{}/{}.html", kind, file);
}

std::string page_link(std::string_view root, std::string_view kind, std::string_view name) {
  std::string text;
  for (size_t at = 0; at < name.size();) {
    const size_t end = std::min(name.find_first_of("._", at), name.size() - 1) + 1;
    text += (at == 0 ? "" : "<wbr>") + markup_text(name.substr(at, end - at));
    at = end;
  }
  return format_text(R"(<a href="{}{}">{}</a>)", root, page_file(kind, name), text);
}

std::string page(const std::string& title, std::string_view root, const std::string& body) {
  return format_text(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{0}</title>\n<link rel=\"stylesheet\" href=\"{1}style.css\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n</head><body data-root=\"{1}\">\n"
      "<header><a class=\"home\" href=\"{1}index.html\">Tenon</a>\n"
      "<nav><a href=\"{1}index.html#ops\">ops</a> <a href=\"{1}index.html#modules\">modules</a> "
      "<a href=\"{1}index.html#types\">types</a> <a href=\"{1}index.html#plugins\">plugins</a> "
      "<a href=\"{1}matrix.html\">matrix</a></nav>\n"
      "<div class=\"search\" hidden><input type=\"search\" placeholder=\"Search\" "
      "aria-label=\"Search\" "
      "autocomplete=\"off\"><ol></ol></div></header>\n<main>\n{2}</main>\n"
      "<script src=\"{1}names.js\" defer></script><script src=\"{1}search.js\" defer></script>\n"
      "</body></html>\n",
      markup_text(title), root, body);
}

std::string code(std::string_view text) {
  return format_text("<code>{}</code>", markup_text(text));
}

std::string prose(std::string_view text) {
  std::string out;
  bool inside = false;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find('`', at), text.size());
    const std::string_view part = text.substr(at, end - at);
    const bool closed = !inside || end < text.size();
    out += inside && closed ? code(part) : (closed ? "" : "`") + markup_text(part);
    inside = !inside;
    at = end + 1;
  }
  return out;
}

void HtmlTable::add(const std::vector<std::string>& cells) {
  rows_ += "<tr>";
  for (const std::string& cell : cells) rows_ += format_text("<td>{}</td>", cell);
  rows_ += "</tr>\n";
  ++count_;
}

std::string HtmlTable::text(std::string_view attributes) const {
  if (rows_.empty()) return "";
  std::string head;
  for (const std::string& cell : head_) head += format_text("<th>{}</th>", cell);
  return format_text(
      "<div "
      "class=\"grid\"><table{}{}>\n<thead><tr>{}</tr></thead>\n<tbody>\n{}</tbody></table></div>\n",
      attributes.empty() ? "" : " ", attributes, head, rows_);
}

std::string HtmlTable::section(std::string_view title, bool open,
                               std::string_view attributes) const {
  if (count_ == 0) return "";
  return format_text("<details{}><summary>{} <small>{}</small></summary>\n{}</details>\n",
                     open ? " open" : "", markup_text(title), count_, text(attributes));
}

std::string parameter_table(const Json& parameters) {
  HtmlTable table({"parameter", "type", "default", ""});
  for (int64_t i = 0; i < parameters.size(); ++i) {
    const Json one = parameters[i];
    std::vector<std::string> remarks;
    if (one["keyword_only"].as_bool()) remarks.emplace_back("by name only");
    if (one["mutates"].as_bool()) remarks.emplace_back("written to");
    table.add({code(one["name"].text()), code(one["type"].text()),
               one["default"].defined() ? code(one["default"].text()) : "", join(remarks, ", ")});
  }
  return table.text();
}

std::string provider_table(const Json& providers) {
  HtmlTable table({"plugin", "standing", ""});
  for (int64_t i = 0; i < providers.size(); ++i) {
    const Json one = providers[i];
    std::vector<std::string> remarks;
    if (one["may_decline"].as_bool())
      remarks.emplace_back("may decline a call, which the next one runs");
    if (one["reason"].defined()) remarks.push_back(one["reason"].text());
    table.add({page_link("../", "plugins", one["plugin"].text()),
               markup_text(one["standing"].text()), markup_text(join(remarks, "; "))});
  }
  return table.text();
}

}  // namespace cli
