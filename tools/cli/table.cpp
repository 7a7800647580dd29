// Layout of tables.
#include "table.hpp"

#include <algorithm>
#include <numeric>
#include <sstream>
#include <utility>

#include "format.hpp"
#include "text.hpp"

namespace cli {

namespace {

constexpr int64_t kGap = 2;
constexpr int64_t kNarrowest = 8;       // a column is not made narrower
constexpr int64_t kNarrowestText = 32;  // a flexible one that would be has its own lines
constexpr int64_t kIndent = 4;          // of lines below others, and of broken ones

// Lines of a cell, which are broken where they are longer than `width`; 0: of any length.
std::vector<std::string> cell_lines(const std::string& cell, int64_t width, int64_t hanging = 0) {
  std::vector<std::string> lines;
  std::istringstream text(tenon::printable(cell));
  for (std::string line; std::getline(text, line);) {
    for (std::string& one : lines_of(line, width, hanging)) lines.push_back(std::move(one));
  }
  if (lines.empty()) lines.emplace_back();
  return lines;
}

int64_t cell_width(const std::string& cell) {
  int64_t width = 0;
  for (const std::string& line : cell_lines(cell, 0)) width = std::max(width, display_width(line));
  return width;
}

}  // namespace

class Table::Layout {
 public:
  Layout(const Table& table, int64_t limit) : table_(table), indent_(table.indent_) {
    for (const Column& column : table.columns_) widths_.push_back(display_width(column.title));
    for (const auto& row : table.rows_) {
      for (size_t c = 0; c < row.size() && !table.is_heading(row); ++c)
        widths_[c] = std::max(widths_[c], cell_width(row[c].text));
    }
    if (limit > 0) fit(limit);
  }

  std::string row(const std::vector<Cell>& cells) const {
    std::vector<std::vector<std::string>> lines;
    size_t count = 0;
    for (size_t c = 0; c < cells.size(); ++c) {
      const bool own = c == own_lines_;
      lines.push_back(
          own ? std::vector<std::string>()
              : cell_lines(cells[c].text, std::max<int64_t>(1, widths_[c]),
                           table_.columns_[c].flexible && !table_.facts_ ? kIndent : 0));
      count = std::max(count, lines.back().size());
    }
    std::string out;
    for (size_t l = 0; l < count; ++l) out += line(cells, lines, l);
    if (own_lines_ == 0) return own_text(cells) + out;
    return out + own_text(cells);
  }

 private:
  int64_t total() const {
    return indent_ + kGap * static_cast<int64_t>(widths_.size() - 1) +
           std::accumulate(widths_.begin(), widths_.end(), int64_t{0});
  }
  // Narrows flexible columns, then the widest ones.
  void fit(int64_t limit) {
    for (size_t c = 0; c < widths_.size() && total() > limit; ++c) {
      if (!table_.columns_[c].flexible) continue;
      const int64_t rest = widths_[c] - (total() - limit);
      if (rest < std::min(widths_[c], kNarrowestText) && !table_.facts_ &&
          own_lines_ == widths_.size()) {
        own_lines_ = c;
        own_width_ = std::max(kNarrowest, limit - indent_ - (c == 0 ? 0 : kIndent));
        widths_[c] = c == 0 ? kIndent - kGap : 0;
      } else {
        widths_[c] = std::max(std::min(widths_[c], kNarrowest), rest);
      }
    }
    while (total() > limit) {
      const auto widest = std::max_element(widths_.begin(), widths_.end());
      if (*widest <= kNarrowest) return;
      --*widest;
    }
  }
  // The cell with its own lines: above its row where it is the first, as names are, else below.
  std::string own_text(const std::vector<Cell>& cells) const {
    if (own_lines_ >= cells.size() || cells[own_lines_].text.empty()) return "";
    const Cell& cell = cells[own_lines_];
    const bool first = own_lines_ == 0;
    const auto indent = static_cast<size_t>(indent_ + (first ? 0 : kIndent));
    std::string out;
    for (const std::string& one : cell_lines(cell.text, own_width_, first ? 2 * kIndent : 0))
      out += format_text("{}{}\n", std::string(indent, ' '), paint(stdout, cell.style, one));
    return out;
  }
  // Empty where the other columns are.
  std::string line(const std::vector<Cell>& cells,
                   const std::vector<std::vector<std::string>>& lines, size_t l) const {
    std::string out(static_cast<size_t>(indent_), ' ');
    for (size_t c = 0; c < cells.size(); ++c) {
      if (c == own_lines_) {
        if (c == 0) out.append(static_cast<size_t>(kIndent), ' ');
        continue;
      }
      const std::string text = l < lines[c].size() ? lines[c][l] : "";
      const auto space =
          static_cast<size_t>(std::max<int64_t>(0, widths_[c] - display_width(text)));
      const bool right = table_.columns_[c].align == Align::right;
      if (right) out.append(space, ' ');
      out += paint(stdout, cells[c].style, text);
      if (!right) out.append(space, ' ');
      out.append(static_cast<size_t>(kGap), ' ');
    }
    while (!out.empty() && out.back() == ' ') out.pop_back();
    return out.empty() && own_lines_ == 0 ? out : format_text("{}\n", out);
  }

  const Table& table_;
  int64_t indent_;
  std::vector<int64_t> widths_;
  size_t own_lines_ = table_.columns_.size();  // the column on its own lines, if any
  int64_t own_width_ = 0;
};

std::string Table::text(int64_t width) const {
  const Layout layout(*this, width);
  std::string out;
  std::vector<Cell> head;
  for (const Column& column : columns_) head.emplace_back(column.title, Style::bold);
  if (std::any_of(head.begin(), head.end(), [](const Cell& cell) { return !cell.text.empty(); }))
    out += layout.row(head);
  for (const auto& row : rows_) {
    if (is_heading(row))
      out +=
          format_text("{}{}\n", out.empty() ? "" : "\n", paint(stdout, Style::bold, row[0].text));
    else
      out += layout.row(row);
  }
  return out;
}

}  // namespace cli
