// Tables of text: columns as wide as their longest cell, of which some give way where lines have a width.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "terminal.hpp"

namespace cli {

struct Cell {
  Cell(std::string cell_text, Style cell_style = Style::plain)
      : text(std::move(cell_text)), style(cell_style) {}
  Cell(const char* cell_text) : text(cell_text) {}
  std::string text;
  Style style = Style::plain;
};

enum class Align { left, right };

class Table {
 public:
  struct Column {
    std::string title;
    Align align = Align::left;
    // Narrowed first, and broken into lines; where little is left for it, on its own lines: above
    // its row where it is the first column, else below.
    bool flexible = false;
  };
  // Without titles the table has no head.
  explicit Table(std::vector<Column> columns, int indent = 0)
      : columns_(std::move(columns)), indent_(indent) {}
  // Names of facts, and the facts.
  static Table of_facts() {
    Table table({{""}, {"", Align::left, true}}, 2);
    table.facts_ = true;
    return table;
  }

  void add(std::vector<Cell> row) { rows_.push_back(std::move(row)); }
  // A line above the rows that follow.
  void add_heading(std::string text) {
    rows_.push_back({Cell(std::move(text))});
    headings_ = true;
  }
  bool empty() const { return rows_.empty(); }
  // As it looks on standard output, or in lines of at most `width` columns (0: of any length).
  std::string text() const { return text(output_width()); }
  std::string text(int64_t width) const;

 private:
  class Layout;
  bool is_heading(const std::vector<Cell>& row) const {
    return headings_ && row.size() == 1 && columns_.size() > 1;
  }

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
  int indent_;
  bool facts_ = false;
  bool headings_ = false;
};

// A column of a table whose rows are values of one kind: a member of them, or any function.
template <class Row>
struct ColumnOf {
  std::string title;
  std::function<Cell(const Row&)> cell;
  Align align = Align::left;
  bool flexible = false;
};

template <class Row>
Table table_of(const std::vector<Row>& rows, const std::vector<ColumnOf<Row>>& columns,
               int indent = 0) {
  std::vector<Table::Column> heads;
  for (const ColumnOf<Row>& column : columns)
    heads.push_back({column.title, column.align, column.flexible});
  Table table(std::move(heads), indent);
  for (const Row& row : rows) {
    std::vector<Cell> cells;
    for (const ColumnOf<Row>& column : columns) cells.push_back(column.cell(row));
    table.add(std::move(cells));
  }
  return table;
}

}  // namespace cli
