// Lists images of folders by class, of CSV files by row, and single ones.
#include "image_list.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

#include <tenon/text.hpp>

#include "cell_text.hpp"
#include "csv_cursor.hpp"
#include "file.hpp"

namespace data {

namespace {

namespace fs = std::filesystem;

bool is_text(std::string_view bytes) {
  const std::string_view begin = bytes.substr(0, 512);
  return std::all_of(begin.begin(), begin.end(), [](unsigned char byte) {
    return byte >= ' ' || (byte >= '\t' && byte <= '\r');
  });
}

bool is_png(const std::string& name) { return lower_case(fs::path(name).extension()) == ".png"; }

// Entries of a folder without hidden files, in sorted order.
std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code code;
  for (fs::directory_iterator at(folder, code), end; !code && at != end; at.increment(code)) {
    if (at->path().filename().string().front() != '.') entries.push_back(at->path());
  }
  if (code) throw tenon::IOError("cannot read '" + folder.string() + "': " + code.message());
  std::sort(entries.begin(), entries.end());
  return entries;
}

std::vector<std::string> images_of(const fs::path& folder) {
  std::vector<std::string> files;
  for (const fs::path& entry : entries_of(folder)) {
    if (!is_png(entry))
      throw tenon::ValueError(entry.string() + ": it is not a .png file; convert or remove it");
    files.push_back(entry);
  }
  if (files.empty()) throw tenon::ValueError(folder.string() + ": the folder has no .png files");
  return files;
}

int64_t class_number(const std::vector<std::string>& classes, const std::string& name,
                     const std::string& place) {
  const auto found = std::find(classes.begin(), classes.end(), name);
  if (found != classes.end()) return found - classes.begin();
  throw tenon::ValueError(place + ": " + quoted_text(name) + " is not one of the fitted classes" +
                          tenon::suggestion(name, classes));
}

tenon::Tensor no_targets(const ImageList& list) {
  return tenon::empty_tensor({static_cast<int64_t>(list.files.size()), 0});
}

ImageList list_folder(const fs::path& path, bool with_targets,
                      const std::vector<std::string>& classes) {
  ImageList list;
  const std::vector<fs::path> entries = entries_of(path);
  const bool classed = !entries.empty() && fs::is_directory(entries.front());
  if (!classed) {
    list.files = images_of(path);
    if (with_targets)
      throw tenon::ValueError(
          path.string() + ": the folder has images, expected a folder of images for each class");
    list.targets = no_targets(list);
    return list;
  }
  for (const fs::path& entry : entries) {
    if (!fs::is_directory(entry))
      throw tenon::ValueError(entry.string() +
                              ": it is a file, expected a folder of images for "
                              "each class; remove it");
    list.classes.push_back(entry.filename());
  }
  const std::vector<std::string> present = list.classes;
  if (!classes.empty()) list.classes = classes;
  std::vector<int64_t> targets;
  for (const std::string& name : present) {
    const std::vector<std::string> files = images_of(path / name);
    list.files.insert(list.files.end(), files.begin(), files.end());
    if (with_targets)
      targets.resize(list.files.size(), class_number(list.classes, name, (path / name).string()));
  }
  list.targets =
      with_targets ? tenon::from_range(targets.begin(), targets.end()) : no_targets(list);
  return list;
}

ImageList list_one(const std::string& path, bool with_targets) {
  if (with_targets) {
    throw tenon::ValueError(path +
                            ": an image has no target; give a table of images and targets, "
                            "or read it with with_targets=False");
  }
  ImageList list;
  list.files = {path};
  list.targets = no_targets(list);
  return list;
}

struct Row {
  std::string file, target, place;
};

std::vector<Row> rows_of(const File& file, const std::string& text, bool with_targets) {
  CsvCursor cursor(text, find_delimiter(text, '.'), '.');
  const fs::path folder = fs::path(file.path()).parent_path();
  std::vector<Row> rows;
  bool first = true;
  while (cursor.next_row()) {
    const std::string name(cursor.take_cell().text);
    std::string target;
    int64_t cells = 1;
    while (cursor.more_cells()) {
      target = cursor.take_cell().text;
      ++cells;
    }
    const bool header = first && !is_png(name);
    first = false;
    if (header) continue;
    const std::string line = std::to_string(cursor.row_line());
    if (cells > 2 || (with_targets && cells != 2))
      throw Fault("the row has " + std::to_string(cells) +
                      " cells, expected the name of an image and its target",
                  line);
    if (!is_png(name)) throw Fault(quoted_text(name) + " is not a .png file", line);
    check_utf8(target, line);
    if (with_targets && target.empty())
      throw Fault("the cell beside " + quoted_text(name) + " is empty, expected a target", line);
    rows.push_back({folder / name, target, file.path() + ":" + line});
  }
  if (rows.empty()) throw Fault("the list is empty, expected at least one image");
  return rows;
}

// Whole numbers as they are, other numbers too, texts as classes.
void take_targets(const std::vector<Row>& rows, const std::vector<std::string>& classes,
                  ImageList& list) {
  std::vector<float> numbers;
  bool whole = true;
  for (const Row& row : rows) {
    float number = 0;
    if (!classes.empty() ||
        read_decimal(std::string_view(row.target), '.', number) != Reading::number)
      break;
    whole = whole && number >= 0 && number == static_cast<float>(static_cast<int64_t>(number));
    numbers.push_back(number);
  }
  if (numbers.size() == rows.size()) {
    list.targets = tenon::from_range(numbers.begin(), numbers.end());
    if (whole) list.targets = tenon::contiguous_as(list.targets, tenon::i64);
    return;
  }
  list.classes = classes;
  if (classes.empty()) {
    std::set<std::string> names;
    for (const Row& row : rows) names.insert(row.target);
    list.classes.assign(names.begin(), names.end());
  }
  std::vector<int64_t> codes;
  codes.reserve(rows.size());
  for (const Row& row : rows) codes.push_back(class_number(list.classes, row.target, row.place));
  list.targets = tenon::from_range(codes.begin(), codes.end());
}

ImageList list_table(const std::string& path, bool with_targets,
                     const std::vector<std::string>& classes) {
  const File file(path);
  try {
    const Bytes bytes = file.text();
    if (!is_text(bytes))
      throw Fault("it is neither a PNG image nor a CSV file of images; convert it to PNG");
    const std::vector<Row> rows = rows_of(file, std::string(std::string_view(bytes)), with_targets);
    ImageList list;
    for (const Row& row : rows) list.files.push_back(row.file);
    if (with_targets)
      take_targets(rows, classes, list);
    else
      list.targets = no_targets(list);
    return list;
  } catch (const Fault& fault) {
    file.refuse(fault);
  }
}

}  // namespace

ImageList list_images(const std::string& path, bool with_targets,
                      const std::vector<std::string>& classes) {
  std::error_code code;
  if (fs::is_directory(path, code)) return list_folder(path, with_targets, classes);
  return is_png(path) ? list_one(path, with_targets) : list_table(path, with_targets, classes);
}

}  // namespace data
