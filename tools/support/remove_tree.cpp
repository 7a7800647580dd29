// Removing a folder that others have written into.
#include "remove_tree.hpp"

namespace cli {

namespace fs = std::filesystem;

namespace {

void open_to_owner(const fs::path& path) {
  std::error_code ignored;
  if (fs::symlink_status(path, ignored).type() != fs::file_type::directory) return;
  fs::permissions(path, fs::perms::owner_all, fs::perm_options::add, ignored);
  fs::directory_iterator entry(path, ignored);
  for (; !ignored && entry != fs::directory_iterator(); entry.increment(ignored))
    open_to_owner(entry->path());
}

}  // namespace

void remove_tree(const fs::path& path, std::error_code& fault) {
  fs::remove_all(path, fault);
  if (!fault) return;
  open_to_owner(path);
  fs::remove_all(path, fault);
}

}  // namespace cli
