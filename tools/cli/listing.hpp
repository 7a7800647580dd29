// Listings: documents of the runtime whose elements are the rows of a table.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <tenon/json.hpp>

#include "command.hpp"
#include "table.hpp"

namespace cli {

using ListingColumn = ColumnOf<tenon::Json>;

// Cells of a column: a member of the row as text, and `missing` where it has none.
std::function<Cell(const tenon::Json&)> member(const char* name, const char* missing = "");
// A member that is a number.
std::function<Cell(const tenon::Json&)> number_member(const char* name, const char* missing = "-");

// Prints the document as JSON, or as a table; without rows the text `empty`.
void print_listing(const tenon::Json& document, const std::vector<ListingColumn>& columns,
                   const char* empty, bool json);

// A command that lists one document.
struct Listing {
  const char *name, *summary, *examples;
  tenon::Json (*document)();
  std::vector<ListingColumn> columns;
  const char* empty;
};
void define_listing(Commands& commands, Listing listing);

}  // namespace cli
