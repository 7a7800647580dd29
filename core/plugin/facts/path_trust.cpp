// A walk from the root along a path: where every step is safe, no other user can change the next.
#include "core/plugin/facts/path_trust.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <unistd.h>
#include <utility>

#include <sys/stat.h>
#include <sys/xattr.h>

#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "core/plugin/facts/paths.hpp"

namespace tenon::core {

namespace {

constexpr int kMostLinks = 40;  // as the kernel

// Who can replace libtenon has the process anyway.
struct OwnLibrary {
  bool known = false;
  uid_t owner = 0;
  bool open = false;    // every user may write to it
  bool shared = false;  // its group may
  gid_t group = 0;

  static const OwnLibrary& get() {
    static const OwnLibrary library = [] {
      OwnLibrary found;
      struct stat status {};
      if (own_file().empty() || ::stat(own_file().c_str(), &status) != 0) return found;
      found = {true, status.st_uid, (status.st_mode & S_IWOTH) != 0,
               (status.st_mode & S_IWGRP) != 0, status.st_gid};
      return found;
    }();
    return library;
  }
};

bool is_below(std::string_view path, std::string_view folder) {
  if (folder == "/") return true;
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

bool is_trusted_owner(uid_t user) {
  const OwnLibrary& own = OwnLibrary::get();
  return user == 0 || user == ::geteuid() || (own.known && user == own.owner);
}

bool is_trusted_group(gid_t group) {
  const OwnLibrary& own = OwnLibrary::get();
  return group == 0 || group == ::getegid() || (own.shared && group == own.group);
}

// With an access list the rights of the group are those of all that the list names.
bool has_access_list(const std::string& path) {
  return ::lgetxattr(path.c_str(), "system.posix_acl_access", nullptr, 0) > 0;
}

std::string own_user() { return ::geteuid() == 0 ? "root" : std::to_string(::geteuid()); }

// The name of a path in messages: "it", or "the folder '/x'".
std::string allowing(const std::string& path) {
  return format_text("or allow it by name: --trust {}, or \"trust\" in the config", quote(path));
}

Distrust owned_by_other(const std::string& what, const std::string& path, uid_t owner) {
  return {format_text("user {} owns {}", owner, what),
          format_text("run `chown {} {}`, {}", own_user(), quote(path), allowing(path))};
}

std::string mode_text(mode_t mode) {
  char text[8];
  std::snprintf(text, sizeof text, "%04o", static_cast<unsigned>(mode & 07777U));
  return text;
}

// Who else can write to what is at the path; nothing when only trusted users can.
std::optional<Distrust> judge_writers(const std::string& what, const std::string& path, mode_t mode,
                                      gid_t group) {
  if (OwnLibrary::get().open) return std::nullopt;
  if ((mode & S_IWOTH) != 0) {
    return Distrust{format_text("every user can write to {} (mode {})", what, mode_text(mode)),
                    format_text("run `chmod o-w {}`, {}", quote(path), allowing(path))};
  }
  if ((mode & S_IWGRP) == 0) return std::nullopt;
  const bool listed = has_access_list(path);
  if (!listed && is_trusted_group(group)) return std::nullopt;
  return Distrust{
      listed ? format_text("an access list lets others write to {}", what)
             : format_text("group {} can write to {} (mode {})", group, what, mode_text(mode)),
      format_text("run `chmod g-w {}`, {}", quote(path), allowing(path))};
}

std::optional<Distrust> judge_owner_and_writers(const std::string& what, const std::string& path,
                                                const struct stat& status) {
  if (!is_trusted_owner(status.st_uid)) return owned_by_other(what, path, status.st_uid);
  return judge_writers(what, path, status.st_mode, status.st_gid);
}

// Follows a path, link by link.
class Walk {
 public:
  explicit Walk(const std::string& path) { append(path); }

  // Empty when no other user can change where the path leads.
  std::optional<Distrust> run() {
    struct stat folder {};
    if (::lstat("/", &folder) != 0) return gone("/");
    while (!rest_.empty()) {
      const std::string name = std::move(rest_.back());
      rest_.pop_back();
      if (name == "..") {  // in a link: the folders above it were passed already
        if (!at_.empty()) at_.erase(at_.rfind('/'));
        if (::lstat(here().c_str(), &folder) != 0) return gone(here());
        continue;
      }
      const std::string next = format_text("{}/{}", at_, name);
      struct stat entry {};
      if (::lstat(next.c_str(), &entry) != 0) return gone(next);
      if (auto found = judge_step(folder, entry)) return found;
      if (S_ISLNK(entry.st_mode)) {
        if (++links_ > kMostLinks) {
          errno = ELOOP;
          return gone(next);
        }
        if (!follow(next)) return gone(next);
        if (::lstat(here().c_str(), &folder) != 0) return gone(here());
        continue;
      }
      at_ = next;
      folder = entry;
    }
    end_ = folder;
    return std::nullopt;
  }

  std::string here() const { return at_.empty() ? "/" : at_; }
  const struct stat& end() const { return end_; }

 private:
  static Distrust gone(const std::string& path) {
    return {format_text("{} cannot be looked at: {}", quote(path), std::strerror(errno)),
            "check the path and its rights"};
  }

  // In reverse: the next step is the last.
  void append(std::string_view path) {
    std::vector<std::string> steps;
    while (!path.empty()) {
      const size_t end = std::min(path.find('/'), path.size());
      const std::string_view step = path.substr(0, end);
      if (!step.empty() && step != ".") steps.emplace_back(step);
      path.remove_prefix(std::min(end + 1, path.size()));
    }
    rest_.insert(rest_.end(), steps.rbegin(), steps.rend());
  }

  bool follow(const std::string& link) {
    char target[4096];
    const ssize_t length = ::readlink(link.c_str(), target, sizeof target);
    if (length <= 0 || length == static_cast<ssize_t>(sizeof target)) return false;
    if (target[0] == '/') at_.clear();
    append({target, static_cast<size_t>(length)});
    return true;
  }

  // Whether others can rename or replace the entry of the folder in which the walk is.
  std::optional<Distrust> judge_step(const struct stat& folder, const struct stat& entry) const {
    if (!own_file().empty() && is_below(own_file(), here())) return std::nullopt;
    const std::string what = format_text("the folder {}", quote(here()));
    if (!is_trusted_owner(folder.st_uid)) return owned_by_other(what, here(), folder.st_uid);
    if ((folder.st_mode & S_ISVTX) != 0 && is_trusted_owner(entry.st_uid)) return std::nullopt;
    return judge_writers(what, here(), folder.st_mode, folder.st_gid);
  }

  std::string at_;  // without links; empty: the root
  std::vector<std::string> rest_;
  int links_ = 0;
  struct stat end_ {};
};

}  // namespace

PluginFailure Distrust::failure(const std::string& path) const {
  return make_failure(PluginStage::Read, "", path, problem, remedy);
}

bool PathTrust::is_allowed(const std::string& path) const {
  return std::ranges::any_of(allowed_,
                             [&](const std::string& folder) { return is_below(path, folder); });
}

std::optional<Distrust> PathTrust::judge_folder(const std::string& path) const {
  if (is_allowed(path)) return std::nullopt;
  Walk walk(path);
  if (auto found = walk.run()) return found;
  return judge_owner_and_writers(format_text("the folder {}", quote(walk.here())), walk.here(),
                                 walk.end());
}

std::optional<Distrust> PathTrust::judge_file(const std::string& path,
                                              const FileStamp& stamp) const {
  if (is_allowed(path)) return std::nullopt;
  Walk walk(path);
  if (auto found = walk.run()) return found;
  if (walk.end().st_dev != stamp.device || walk.end().st_ino != stamp.inode) {
    return Distrust{"another file took its place while it was judged", "try again"};
  }
  struct stat judged {};
  judged.st_uid = stamp.owner;
  judged.st_gid = stamp.group;
  judged.st_mode = stamp.mode;
  return judge_owner_and_writers("it", walk.here(), judged);
}

void PathTrust::require_file(const std::string& path, const FileStamp& stamp) const {
  if (const auto found = judge_file(path, stamp)) throw PluginError(found->failure(path));
}

}  // namespace tenon::core
