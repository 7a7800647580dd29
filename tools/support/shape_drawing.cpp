#include "shape_drawing.hpp"

#include <algorithm>
#include <charconv>

#include "format.hpp"

namespace cli {

namespace {

constexpr size_t kMostShapes = 6;
constexpr size_t kMostRank = 16;
constexpr auto kIndent = "    ";

// Reads the sizes of "[8, 1, 6]" at the start of the text; the length of it, 0 where it is something else.
size_t read_shape(std::string_view text, std::vector<int64_t>& shape) {
  shape.clear();
  size_t at = 1;
  while (at < text.size() && text[at] != ']') {
    int64_t size = 0;
    const auto [end, fault] = std::from_chars(text.data() + at, text.data() + text.size(), size);
    if (fault != std::errc() || size < 0 || shape.size() == kMostRank) return 0;
    shape.push_back(size);
    at = static_cast<size_t>(end - text.data());
    if (at < text.size() && text[at] == ',') {
      ++at;
      if (at < text.size() && text[at] == ' ') ++at;
    } else if (at >= text.size() || text[at] != ']') {
      return 0;
    }
  }
  return at < text.size() ? at + 1 : 0;
}

// The last word in quotes of the text in front of a shape: "'input' of shape " has one.
std::string name_in(std::string_view text) {
  const size_t end = text.rfind('\'');
  if (end == text.npos || end == 0) return "";
  const size_t begin = text.rfind('\'', end - 1);
  if (begin == text.npos || end - begin > 24) return "";
  return std::string(text.substr(begin + 1, end - begin - 1));
}

}  // namespace

std::string drawn_shapes(const std::vector<NamedShape>& shapes, bool marks, int64_t width) {
  size_t rank = 0, name_width = 0;
  for (const auto& [name, shape] : shapes) {
    rank = std::max(rank, shape.size());
    name_width = std::max(name_width, name.size());
  }
  // Columns are counted from the right.
  std::vector<size_t> columns(rank, 1);
  std::vector<std::string> below(rank);
  for (size_t back = 0; back < rank; ++back) {
    int64_t first = 1;
    for (const auto& [name, shape] : shapes) {
      if (back >= shape.size()) continue;
      const int64_t size = shape[shape.size() - 1 - back];
      columns[back] = std::max(columns[back], std::to_string(size).size());
      if (size == 1) continue;
      if (first != 1 && size != first) below[back] = "^";
      first = size;
    }
  }
  const size_t lead = std::string_view(kIndent).size() + name_width;
  size_t shown = 0, used = lead + 5;  // with "..." in front
  while (shown < rank && (width == 0 || used + 2 + columns[shown] <= static_cast<size_t>(width)))
    used += 2 + columns[shown++];
  const auto row = [&](const std::string& name, const char* left_out, const auto& cell) {
    std::string line = kIndent + name + std::string(name_width - name.size(), ' ');
    if (shown < rank) line += left_out;
    for (size_t back = shown; back-- > 0;) {
      const std::string text = cell(back);
      line += std::string(2 + columns[back] - text.size(), ' ') + text;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    return line + "\n";
  };
  std::string text;
  for (const auto& [name, shape] : shapes) {
    if (shape.empty()) {
      text += format_text("{}{}{}  (no dimensions)\n", kIndent, name,
                          std::string(name_width - name.size(), ' '));
      continue;
    }
    const std::vector<int64_t>& sizes = shape;
    text += row(name, sizes.size() > shown ? "  ..." : "     ", [&](size_t back) {
      return back < sizes.size() ? std::to_string(sizes[sizes.size() - 1 - back]) : std::string();
    });
  }
  if (marks && std::any_of(below.begin(), below.end(),
                           [](const std::string& mark) { return !mark.empty(); }))
    text += row("", "     ", [&](size_t back) { return below[back]; });
  return text;
}

std::string drawn_shapes_of(std::string_view message, int64_t width) {
  if (message.find("shape") == message.npos && message.find("broadcast") == message.npos) return "";
  std::vector<NamedShape> shapes;
  size_t behind = 0;
  for (size_t at = message.find('['); at != message.npos; at = message.find('[', at + 1)) {
    std::vector<int64_t> shape;
    const size_t length = read_shape(message.substr(at), shape);
    if (length == 0) continue;
    shapes.emplace_back(name_in(message.substr(behind, at - behind)), std::move(shape));
    behind = at + length;
  }
  const bool equal = std::all_of(shapes.begin(), shapes.end(), [&](const NamedShape& one) {
    return one.second == shapes.front().second;
  });
  if (shapes.size() < 2 || shapes.size() > kMostShapes || equal) return "";
  // A name of only some is that of something else.
  if (std::any_of(shapes.begin(), shapes.end(),
                  [](const NamedShape& one) { return one.first.empty(); })) {
    for (NamedShape& one : shapes) one.first.clear();
  }
  return drawn_shapes(shapes, message.find("broadcast") != message.npos, width);
}

}  // namespace cli
