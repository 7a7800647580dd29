// Layout of tables.
#include "table.hpp"

#include <algorithm>

#include "format.hpp"
#include "text.hpp"

namespace cli {

namespace {

constexpr int64_t kGap = 2;
constexpr int64_t kNarrowest = 8;  // a flexible column is not cut below this

std::string shortened(const std::string& text, int64_t width) {
  if (display_width(text) <= width) return text;
  const bool utf8 = shows_utf8();
  return leading(text, width - (utf8 ? 1 : 2)) + (utf8 ? "…" : "..");
}

}  // namespace

std::string Table::text() const {
  std::vector<int64_t> widths;
  for (size_t c = 0; c < columns_.size(); ++c) {
    int64_t width = display_width(columns_[c].title);
    for (const auto& row : rows_) {
      if (c < row.size()) width = std::max(width, display_width(row[c].text));
    }
    widths.push_back(width);
  }
  if (const int64_t limit = terminal_width(stdout); limit > 0) {
    int64_t total = indent_ + kGap * static_cast<int64_t>(columns_.size() - 1);
    for (const int64_t width : widths) total += width;
    for (size_t c = 0; c < columns_.size() && total > limit; ++c) {
      if (!columns_[c].flexible) continue;
      const int64_t narrower =
          std::max(std::min(widths[c], kNarrowest), widths[c] - (total - limit));
      total -= widths[c] - narrower;
      widths[c] = narrower;
    }
  }

  std::string out;
  const auto put_row = [&](const std::vector<Cell>& row) {
    std::string line(static_cast<size_t>(indent_), ' ');
    for (size_t c = 0; c < row.size(); ++c) {
      const std::string cell =
          columns_[c].flexible ? shortened(row[c].text, widths[c]) : row[c].text;
      const auto space = static_cast<size_t>(std::max<int64_t>(0, widths[c] - display_width(cell)));
      const bool last = c + 1 == row.size();
      if (columns_[c].align == Align::right) line.append(space, ' ');
      line += paint(stdout, row[c].style, cell);
      if (columns_[c].align == Align::left && !last) line.append(space, ' ');
      if (!last) line.append(static_cast<size_t>(kGap), ' ');
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    out += format_text("{}\n", line);
  };
  std::vector<Cell> head;
  for (const Column& column : columns_) head.emplace_back(column.title, Style::bold);
  if (std::any_of(head.begin(), head.end(), [](const Cell& cell) { return !cell.text.empty(); })) {
    put_row(head);
  }
  for (const auto& row : rows_) put_row(row);
  return out;
}

}  // namespace cli
