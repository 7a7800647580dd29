// Tables of documents.
#include "listing.hpp"

#include <utility>

#include "exit_code.hpp"
#include "json.hpp"

namespace cli {

using tenon::Json;

namespace {

struct ListingOptions {
  Listing listing;
  bool json = false;
};

int print_listed(const ListingOptions& options) {
  const Listing& listing = options.listing;
  print_listing(listing.document(), listing.columns, listing.empty, options.json);
  return kFine;
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

void print_listing(const Json& document, const std::vector<ListingColumn>& columns,
                   const char* empty, bool json) {
  if (json) return print_json(document);
  std::vector<Json> rows;
  for (int64_t i = 0; i < document.size(); ++i) rows.push_back(document[i]);
  print(rows.empty() ? empty : table_of(rows, columns).text());
}

void define_listing(Commands& commands, Listing listing) {
  auto [command, options] =
      commands.add(print_listed, listing.name, listing.summary, listing.examples);
  options.listing = std::move(listing);
  command.json(options.json);
}

}  // namespace cli
