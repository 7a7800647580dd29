// Writing the pages.
#include "catalogue.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <set>
#include <unistd.h>

#include <tenon/error.hpp>
#include <tenon/listing/listing.hpp>

#include "exit_code.hpp"
#include "facts.hpp"
#include "format.hpp"
#include "html.hpp"
#include "pages.hpp"
#include "terminal.hpp"
#include "text.hpp"

namespace cli {

namespace fs = std::filesystem;
using tenon::Json;

namespace {

constexpr std::string_view kMark = ".tenon-catalogue";  // a file in each catalogue

// A folder beside its place until it is whole; gone unless it has taken it.
class NewFolder {
 public:
  explicit NewFolder(fs::path place) : place_(std::move(place)) {
    if (!place_.has_filename()) place_ = place_.parent_path();
    if (fs::exists(place_) && !fs::is_directory(place_))
      throw tenon::ValueError(format_text("'{}' is a file; name a folder", place_.string()));
    if (fs::exists(place_) && !fs::is_empty(place_) && !fs::exists(place_ / kMark))
      throw tenon::ValueError(format_text(
          "'{}' has other files than those of a catalogue; name a new folder, with --output",
          place_.string()));
    if (place_.has_parent_path()) make(place_.parent_path());
    folder_ = format_text("{}.{}.part", place_.string(), getpid());
    fs::remove_all(folder_);
    make(folder_);
    write(std::string(kMark), "");
  }
  ~NewFolder() {
    std::error_code ignored;
    if (!folder_.empty()) fs::remove_all(folder_, ignored);
  }
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  void write(const std::string& name, std::string_view text) {
    const fs::path path = folder_ / name;
    if (path.parent_path() != folder_ && made_.insert(path.parent_path().string()).second)
      make(path.parent_path());
    std::ofstream file(path, std::ios::binary);
    file.write(text.data(), static_cast<std::streamsize>(text.size()));
    file.close();
    if (!file)
      throw tenon::IOError(
          format_text("cannot write '{}': {}", path.string(), std::strerror(errno)));
    bytes_ += static_cast<int64_t>(text.size());
    ++files_;
  }

  // In one step where something is there, so that readers see one catalogue or the other.
  void take_place() {
    if (!fs::exists(place_)) {
      fs::rename(folder_, place_);
      folder_.clear();
      return;
    }
    if (renameat2(AT_FDCWD, folder_.c_str(), AT_FDCWD, place_.c_str(), RENAME_EXCHANGE) == 0)
      return;
    fs::remove_all(place_);  // a file system that cannot exchange two folders
    fs::rename(folder_, place_);
    folder_.clear();
  }

  int64_t bytes() const { return bytes_; }
  int64_t files() const { return files_; }
  std::string place() const { return place_.string(); }

 private:
  static void make(const fs::path& path) {
    std::error_code fault;
    fs::create_directories(path, fault);
    if (fault)
      throw tenon::IOError(
          format_text("cannot make the folder '{}': {}", path.string(), fault.message()));
  }

  fs::path place_, folder_;
  std::set<std::string> made_;
  int64_t bytes_ = 0, files_ = 0;
};

// "names = [[name, kind, file, text], ...]", for the search; `<` is written so that no text ends the script.
std::string names_script(const CatalogueFacts& facts) {
  std::string text = "const names = [\n";
  const auto add = [&](const char* kind, const std::vector<Json>& items) {
    for (const Json& item : items) {
      const std::string name =
          std::string_view(kind) == "plugins" ? plugin_name(item) : item["name"].text();
      tenon::JsonArray row;
      row.add(name).add(kind).add(page_file(kind, name)).add(item["doc"].text());
      text += row.json().dump() + ",\n";
    }
  };
  add("ops", facts.ops);
  add("modules", facts.modules);
  add("types", facts.types);
  add("plugins", facts.plugins);
  return text + "];\n";
}

}  // namespace

int write_catalogue(const CatalogueOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  NewFolder folder(options.output);
  const CatalogueFacts facts = read_catalogue_facts(options);
  folder.write("style.css", kStyleSheet);
  folder.write("search.js", kSearchScript);
  folder.write("names.js", names_script(facts));
  folder.write("index.html", index_page(facts));
  folder.write("matrix.html", matrix_page(facts));
  for (const Json& op : facts.ops)
    folder.write(page_file("ops", op["name"].text()), op_page(facts, op));
  for (const Json& module : facts.modules)
    folder.write(page_file("modules", module["name"].text()), module_page(module));
  for (const Json& type : facts.types)
    folder.write(page_file("types", type["name"].text()), type_page(facts, type));
  for (const Json& plugin : facts.plugins)
    folder.write(page_file("plugins", plugin_name(plugin)), plugin_page(facts, plugin));
  folder.take_place();
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  print(format_text("{}/index.html: {}, {} in {}\n", folder.place(),
                    counted(folder.files(), "file"), file_size(folder.bytes()), duration(seconds)));
  return kFine;
}

}  // namespace cli
