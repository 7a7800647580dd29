// Listings: documents of the runtime whose elements are the rows of a table.
//
// Rows are grouped by namespace and broken to fit where standard output has a width, as a terminal
// has. Elsewhere, and with --wide, each is a line of any length with its name in full, for grep and its like.
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
// "conv1d(input, weight, ...)" of a row with "name" and "signature".
Cell call_cell(const tenon::Json& row);

struct ListingOptions {
  std::string pattern;  // names the rows to list; empty: all
  bool all = false;     // internal ones, too
  bool wide = false;
  bool names = false;  // names alone
  bool json = false;
};
// `noun` names a row: "op". Ops have --all.
void define_listing_options(Command& command, ListingOptions& options, const char* noun);

struct ListingForm {
  const char* noun;                        // "op"
  std::vector<ListingColumn> columns;      // of lines of any length
  std::vector<ListingColumn> fitted = {};  // of lines of a width; empty: the same
  const char* empty = "";                  // printed where the document has no rows
  const char* key = "name";                // the member that names a row
  bool in_order = false;                   // rows stay in their order, without groups
  // Title of a column whose cells share a row where the rows are the same otherwise, in lines of a width.
  const char* joined = "";
};

// The rows that the options ask for. ValueError, with a suggestion, where a pattern matches none.
tenon::Json chosen_rows(const tenon::Json& document, const ListingOptions& options,
                        const ListingForm& form);
// Prints these, as the options say.
void print_listing(const tenon::Json& rows, const ListingOptions& options, const ListingForm& form);

// Prints the elements of a document as a table; without any the text `empty`.
void print_rows(const tenon::Json& document, const std::vector<ListingColumn>& columns,
                const char* empty);

// A command that lists one document.
struct Listing {
  const char *name, *summary, *examples;
  tenon::Json (*document)();
  ListingForm form;
};
void define_listing(Commands& commands, Listing listing);

}  // namespace cli
