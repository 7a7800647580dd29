// tenon new: writes a plugin project that builds and passes its test.
#include <algorithm>
#include <filesystem>

#include <tenon/abi/version.h>
#include <tenon/listing/listing.hpp>
#include <tenon/runtime.hpp>

#include "commands.hpp"
#include "format.hpp"
#include "guides.hpp"
#include "new_config.hpp"
#include "new_files.hpp"
#include "templates.hpp"
#include "terminal.hpp"
#include "text.hpp"

namespace cli {

namespace {

struct NewOptions {
  bool c = false;       // in C instead of C++
  bool config = false;  // a config instead of a project; `name` is its file, or the folder of it
  std::string data;     // data file of the config; empty: a file of samples is written beside it
  std::string name;
  std::string folder;
};

namespace fs = std::filesystem;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// The name becomes an id, a file, a namespace of ops and part of C++ names.
void check_name(const std::string& name) {
  const bool well_formed = !name.empty() && name.size() <= 64 && is_letter(name[0]) &&
                           std::all_of(name.begin(), name.end(), [](char c) {
                             return is_letter(c) || (c >= '0' && c <= '9') || c == '_';
                           });
  if (!well_formed) {
    throw UsageError(format_text(
        "'{}' cannot name a plugin: a name is a letter, then letters, digits and '_'", name));
  }
  // The runtime's own namespace, and the names of CMake's targets.
  for (const char* taken : {"tenon", "all", "clean", "depend", "edit_cache", "help", "install",
                            "package", "preinstall", "rebuild_cache", "test"}) {
    if (name == taken)
      throw UsageError(format_text("'{}' cannot name a plugin: the name is reserved", name));
  }
  const tenon::Json plugins = tenon::listing::plugins();
  for (int64_t i = 0; i < plugins.size(); ++i) {
    if (plugins[i]["id"].text() == name) {
      throw UsageError(format_text("there is a plugin '{}' already, {}; choose another name", name,
                                   plugins[i]["path"].text()));
    }
  }
}

std::string filled(std::string_view text, const NewOptions& options) {
  const std::string version = format_text("{}.{}", TENON_VERSION_MAJOR, TENON_VERSION_MINOR);
  std::string out(text);
  // The source's name has the plugin's in it.
  for (const auto& [mark, value] : {
           std::pair<std::string, std::string>{"@SOURCE@", options.c ? kSourceOfC : kSourceOfCxx},
           std::pair<std::string, std::string>{"@LANGUAGES@", options.c ? "C CXX" : "CXX"},
           std::pair<std::string, std::string>{"@NAME@", options.name},
           std::pair<std::string, std::string>{"@TENON_VERSION@", version},
       }) {
    for (size_t at = out.find(mark); at != std::string::npos;
         at = out.find(mark, at + value.size())) {
      out.replace(at, mark.size(), value);
    }
  }
  return out;
}

// The folder in which this Tenon is installed; empty when the compiler's own folders are searched
// anyway, or when it is not installed.
std::string install_prefix() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  const fs::path prefix = program.parent_path().parent_path();
  if (error || prefix == "/usr" || prefix == "/usr/local") return "";
  for (const auto& entry : fs::recursive_directory_iterator(prefix / "lib", error)) {
    if (entry.path().filename() == "tenon-config.cmake") return prefix;
  }
  return "";
}

int create_project(const NewOptions& options) {
  if (options.config) {
    if (options.c || !options.folder.empty())
      throw UsageError("--c and --dir belong to a plugin project, not to --config");
    return create_config(options.name, options.data);
  }
  if (!options.data.empty()) throw UsageError("--data belongs to --config");
  if (options.name.empty())
    throw UsageError("the name of the plugin is required; see `tenon new --help`");
  check_name(options.name);
  const fs::path folder =
      options.folder.empty() ? fs::path(options.name) : fs::path(options.folder);
  try {
    if (fs::exists(folder) && (!fs::is_directory(folder) || !fs::is_empty(folder))) {
      throw UsageError(format_text("'{}' exists and is not an empty folder; name another by --dir",
                                   folder.string()));
    }
    NewFiles files;
    files.folder(fs::absolute(folder).lexically_normal());
    print_fitted(format_text("created {}\n", paint(stdout, Style::bold, folder.string())));
    for (const Template& item : kTemplates) {
      if (item.path == (options.c ? kSourceOfCxx : kSourceOfC)) continue;
      const std::string path = filled(item.path, options);
      files.write(folder / path, filled(item.text, options));
      print_fitted(format_text("  {}\n", path));
    }
    files.keep();
  } catch (const fs::filesystem_error& error) {
    throw tenon::IOError(error.what());
  }
  const std::string prefix = install_prefix();
  print("\nnext:\n");
  if (folder != ".") print(format_text("  cd {}\n", folder.string()));
  print_fitted(format_text("  cmake -S . -B build{}\n",
                           prefix.empty() ? "" : format_text(" -DCMAKE_PREFIX_PATH={}", prefix)));
  print("  cmake --build build\n  ctest --test-dir build\n");
  print_fitted(format_text("  tenon check build/{}.so\n", options.name));
  print_fitted(format_text("  tenon --plugin-path build show {}\n", options.name));
  print_fitted(format_text("  tenon --plugin-path build call {}.squash [1,2]:f32\n", options.name));
  print("  tenon --plugin-path build catalogue\n");
  if (const std::string guides = guides_line(); !guides.empty()) print_fitted("\n" + guides);
  return kFine;
}

}  // namespace

void define_new(Commands& commands) {
  auto [command, options] = commands.add(create_project, "new",
                                         "Write a plugin project or a config that works without "
                                         "changes",
                                         "  tenon new hello\n"
                                         "  tenon new hello --c\n"
                                         "  tenon new hello --dir work/hello-plugin\n"
                                         "  tenon new --config\n"
                                         "  tenon new --config iris.jsonc --data iris.csv\n"
                                         "No file is overwritten.");
  command.optional_argument(options.name, "NAME",
                            "Name of the plugin: letters, digits, _; with --config its file or "
                            "folder, config.jsonc when left out");
  command.flag("--config", options.config,
               "A commented config, with every key, in place of a plugin");
  command.option("--data", options.data, "DATA",
                 "The samples of the config, which its model is fitted to; a small file of samples "
                 "is written when left out");
  command.flag("--c", options.c, "In C instead of C++");
  command.option("--dir", options.folder, "DIR", "The project's folder; NAME when left out");
}

}  // namespace cli
