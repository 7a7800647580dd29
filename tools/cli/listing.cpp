// Tables of documents.
#include "listing.hpp"

#include <algorithm>
#include <utility>

#include <tenon/listing/listing.hpp>
#include <tenon/runtime.hpp>
#include <tenon/text.hpp>

#include "exit_code.hpp"
#include "format.hpp"
#include "json.hpp"
#include "name_pattern.hpp"

namespace cli {

using tenon::Json;

namespace {

struct ListedOptions {
  Listing listing;
  ListingOptions options;
};

int print_listed(const ListedOptions& listed) {
  const Listing& listing = listed.listing;
  const Json rows = chosen_rows(listing.document(), listed.options, listing.form);
  print_listing(rows, listed.options, listing.form);
  return kFine;
}

bool is_op(const ListingForm& form) { return std::string_view(form.noun) == "op"; }

// Whether two rows are the same but for a column.
bool differ_alone(const std::vector<Cell>& one, const std::vector<Cell>& other, size_t column) {
  if (one.size() != other.size()) return false;
  for (size_t c = 0; c < one.size(); ++c) {
    if (c != column && one[c].text != other[c].text) return false;
  }
  return true;
}

// Rows under the names of their namespaces. Names are in order, so those of a namespace are not always
// together: "nn.Sequential" is between those of "nn.functional" and of the root.
Table grouped(const std::vector<Json>& rows, const std::vector<ListingColumn>& columns,
              const ListingForm& form) {
  const char* const key = form.key;
  size_t joined = 0;
  while (joined < columns.size() && columns[joined].title != form.joined) ++joined;
  std::vector<std::string> namespaces;
  for (const Json& row : rows) namespaces.push_back(namespace_part(row[key].text()));
  std::sort(namespaces.begin(), namespaces.end());
  namespaces.erase(std::unique(namespaces.begin(), namespaces.end()), namespaces.end());
  Table table = table_of<Json>({}, columns, namespaces.size() > 1 ? 2 : 0);
  for (const std::string& name : namespaces) {
    if (namespaces.size() > 1) table.add_heading(name.empty() ? "tenon" : name);
    std::vector<Cell> before;
    for (const Json& row : rows) {
      if (namespace_part(row[key].text()) != name) continue;
      std::vector<Cell> cells;
      for (const ListingColumn& column : columns) cells.push_back(column.cell(row));
      if (namespaces.size() > 1 && cells[0].text == row[key].text())
        cells[0].text = last_part(cells[0].text);
      if (joined < columns.size() && differ_alone(before, cells, joined)) {
        before[joined].text += format_text(", {}", cells[joined].text);
        continue;
      }
      if (!before.empty()) table.add(std::move(before));
      before = std::move(cells);
    }
    if (!before.empty()) table.add(std::move(before));
  }
  return table;
}

}  // namespace

std::function<Cell(const Json&)> member(const char* name, const char* missing) {
  return [name, missing](const Json& row) { return Cell(row[name].text(missing)); };
}

std::function<Cell(const Json&)> number_member(const char* name, const char* missing) {
  return [name, missing](const Json& row) {
    const Json number = row[name];
    return Cell(number.defined() ? std::to_string(number.integer()) : std::string(missing));
  };
}

Cell call_cell(const Json& row) {
  return Cell(format_text("{}{}", last_part(row["name"].text()), row["signature"].text()));
}

void define_listing_options(Command& command, ListingOptions& options, const char* noun) {
  const bool ops = std::string_view(noun) == "op";
  command.optional_argument(options.pattern, "PATTERN",
                            "Only these: a namespace, a pattern with * and ?, or a word that is "
                            "part of the name");
  if (ops) command.flag("-a,--all", options.all, "Internal ops, too, such as those of gradients");
  command.flag("-w,--wide", options.wide, "A line for each, of any length, as in a pipe");
  command.flag("--names", options.names, "Names alone, one a line");
  command.json(options.json);
}

Json chosen_rows(const Json& document, const ListingOptions& options, const ListingForm& form) {
  std::vector<std::string> names;
  for (int64_t i = 0; i < document.size(); ++i) names.push_back(document[i][form.key].text());
  const NamePattern pattern(options.pattern, names);
  tenon::JsonArray rows;
  int64_t count = 0, hidden = 0;
  for (int64_t i = 0; i < document.size(); ++i) {
    const std::string& name = names[static_cast<size_t>(i)];
    if (!pattern.matches(name)) continue;
    if (is_op(form) && !options.all && tenon::listing::is_internal(name)) {
      ++hidden;
      continue;
    }
    ++count;
    rows.add(document[i]);
  }
  if (count == 0 && !options.pattern.empty()) {
    if (hidden > 0)
      throw tenon::ValueError(
          format_text("only internal ops match '{}'; `--all` shows them", options.pattern));
    throw tenon::ValueError(
        format_text("no {} matches '{}'{}", form.noun, options.pattern, pattern.suggestion()));
  }
  return rows.json();
}

void print_listing(const Json& document, const ListingOptions& options, const ListingForm& form) {
  if (options.json) return print_json(document);
  std::vector<Json> rows;
  for (int64_t i = 0; i < document.size(); ++i) rows.push_back(document[i]);
  if (options.names) {
    std::string before;
    for (const Json& row : rows) {
      const std::string name = row[form.key].text();
      if (!name.empty() && name != before) print(format_text("{}\n", name));
      before = name;
    }
    return;
  }
  page_output();
  if (rows.empty()) return print(form.empty);
  if (options.wide || output_width() == 0) return print(table_of(rows, form.columns).text(0));
  const std::vector<ListingColumn>& columns = form.fitted.empty() ? form.columns : form.fitted;
  print((form.in_order ? table_of(rows, columns) : grouped(rows, columns, form)).text());
}

void print_rows(const Json& document, const std::vector<ListingColumn>& columns,
                const char* empty) {
  std::vector<Json> rows;
  for (int64_t i = 0; i < document.size(); ++i) rows.push_back(document[i]);
  print(rows.empty() ? empty : table_of(rows, columns).text());
}

void define_listing(Commands& commands, Listing listing) {
  auto [command, options] =
      commands.add(print_listed, listing.name, listing.summary, listing.examples);
  options.listing = std::move(listing);
  define_listing_options(command, options.options, options.listing.form.noun);
}

}  // namespace cli
