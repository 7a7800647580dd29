// Tables of text: columns as wide as their longest cell, one of which gives way on a narrow
// terminal.
#pragma once

#include <string>
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
    bool flexible = false;  // cut, with an ellipsis, where the terminal is too narrow
  };
  // Without titles the table has no head.
  explicit Table(std::vector<Column> columns, int indent = 0)
      : columns_(std::move(columns)), indent_(indent) {}

  void add(std::vector<Cell> row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.empty(); }
  // As it looks on standard output.
  std::string text() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
  int indent_;
};

}  // namespace cli
