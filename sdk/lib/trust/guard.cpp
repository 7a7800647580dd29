// The functions of the load guard: what policies say is in their documents, what has happened is in quarantine.
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include <tenon/trust/guard.hpp>
#include <tenon/trust/quarantine.hpp>
#include <tenon/trust/sha256.hpp>

#include "file.hpp"
#include "lib/base/format.hpp"
#include "lib/base/text.hpp"
#include "policy.hpp"
#include "sodium.hpp"

TENON_NAMESPACE_BEGIN

namespace trust {

namespace {

using lib::format_text;
using lib::quote;

constexpr const char* kLockAgain = "restore what was locked, or look at the change and lock again";

std::string text_of(const tenon_string& text) {
  return {text.data, static_cast<size_t>(text.length)};
}

Refusal refusal(std::string problem, std::string remedy, std::string expected = "",
                std::string found = "") {
  Refusal why;
  why.problem = std::move(problem);
  why.remedy = std::move(remedy);
  why.expected = std::move(expected);
  why.found = std::move(found);
  return why;
}

// A file before the guard, with the policies that it is judged by.
struct Judged {
  explicit Judged(const tenon_guarded_file& given)
      : file(given),
        policies(given.policies, given.policy_count),
        plugin(text_of(given.plugin)),
        path(text_of(given.path)),
        pinned(Json::borrow(given.entry)["sha256"]) {}

  // Bytes of a private copy.
  std::string_view bytes() const {
    return {static_cast<const char*>(file.bytes), static_cast<size_t>(file.byte_count)};
  }

  const tenon_guarded_file& file;
  const Policies policies;
  const std::string plugin, path;
  const Json pinned;  // hash in the config
};

std::optional<Refusal> check_pinned(const Judged& judged, const std::string& found) {
  std::string expected = judged.pinned.text();
  std::transform(expected.begin(), expected.end(), expected.begin(), [](char c) {
    return c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  if (expected == found) return std::nullopt;
  Refusal why = refusal("its bytes are not those that the config pins",
                        "get the file that was meant, or correct `sha256`", hash_text(expected),
                        hash_text(found));
  why.place = judged.pinned.place();
  return why;
}

// The entry of the plugin in each lock, which must be one entry in all that matters.
std::optional<Refusal> check_locked(const Judged& judged, const std::string& found,
                                    const tenon_guard_report& report) {
  const std::vector<Json> locks = judged.policies.locks();
  std::optional<std::vector<LockedLibrary>> libraries;
  for (const Json& lock : locks) {
    const std::string file = lock["file"].text();
    const Json entry = locked_entry(lock, judged.plugin);
    constexpr const char* kRemedy = "look at the plugin and lock again, or restore what was locked";
    if (!entry.defined())
      return refusal(format_text("it is not in the lock file {}", quote(file)), kRemedy);
    if (const std::string expected = entry["sha256"].text(); expected != found) {
      return refusal(format_text("its bytes are not those in the lock file {}", quote(file)),
                     kRemedy, hash_text(expected), hash_text(found));
    }
    std::vector<LockedLibrary> locked;
    const Json list = entry["libraries"];
    for (int64_t i = 0; i < list.size(); ++i)
      locked.push_back({list[i]["name"].text(), list[i]["path"].text(), list[i]["sha256"].text()});
    if (libraries && *libraries != locked) {
      return refusal(
          format_text("lock file {} pins other libraries than the active lock file", quote(file)),
          "lock again with one of the configs, and use that lock file in all");
    }
    libraries = std::move(locked);
  }
  if (!libraries) return std::nullopt;
  std::vector<tenon_pinned_library> pins;
  for (const LockedLibrary& library : *libraries)
    pins.push_back({detail::string_of(library.name), detail::string_of(library.path)});
  report.pin_libraries(report.sink, pins.data(), static_cast<int64_t>(pins.size()));
  return std::nullopt;
}

std::optional<Refusal> check_signed(const Judged& judged, std::string_view bytes) {
  return missing_signature(judged.policies.keys(), Json::borrow(judged.file.facts),
                           {judged.plugin, judged.path, bytes});
}

class LoadGuard {
 public:
  explicit LoadGuard(const GuardOptions& options)
      : quarantine_(options.state_folder, options.trial_program) {}

  Json adopt(const Json& config, bool applies) {
    Json document = policy_document(config);
    const Json retry = config["retry"];
    for (int64_t i = 0; applies && i < retry.size(); ++i) quarantine_.release(retry[i].text());
    return document;
  }

  std::optional<Refusal> judge(const Judged& judged, const tenon_guard_report& report) {
    switch (judged.file.occasion) {
      case TENON_GUARD_FOUND:
        return judge_found(judged);
      case TENON_GUARD_POLICY:
        if (judged.pinned.text().empty()) return std::nullopt;
        return check_pinned(judged, sha256_file(judged.path));
      default:
        return judge_load(judged, report);
    }
  }

  std::optional<Refusal> before(const Judged& judged, void** token) {
    if (!quarantine_.is_kept() || !judged.policies.keeps_quarantine()) return std::nullopt;
    const tenon_file_stamp& stamp = judged.file.stamp;
    if (quarantine_.is_suspect(judged.path, stamp)) {
      if (auto why = quarantine_.settle(judged.path, stamp, Json::borrow(judged.file.alone)))
        return why;
    }
    if (auto why = quarantine_.find(judged.path, stamp)) return why;
    *token = quarantine_.mark(judged.plugin, judged.path, stamp, text_of(judged.file.asked_by))
                 .release();
    return std::nullopt;
  }

 private:
  std::optional<Refusal> judge_found(const Judged& judged) {
    const std::vector<BoundKey> keys = judged.policies.keys();
    if (needs_signature(keys, Json::borrow(judged.file.facts))) {
      const std::string bytes = RegularFile(judged.path).read();
      if (auto why = check_signed(judged, bytes)) return why;
    }
    if (!judged.policies.keeps_quarantine()) return std::nullopt;
    return quarantine_.find(judged.path, judged.file.stamp);
  }

  static std::optional<Refusal> judge_load(const Judged& judged, const tenon_guard_report& report) {
    const bool is_pinned = !judged.pinned.text().empty();
    if (!is_pinned && !judged.policies.judges_bytes()) return std::nullopt;
    const std::string hash = sha256_text(judged.bytes());
    if (is_pinned) {
      if (auto why = check_pinned(judged, hash)) return why;
    }
    if (auto why = check_locked(judged, hash, report)) return why;
    return check_signed(judged, judged.bytes());
  }

  Quarantine quarantine_;
};

// ---- libraries of locked plugins, and locks under review ----

std::optional<Refusal> judge_locked_library(const Judged& judged,
                                            const tenon_guarded_library& library) {
  const std::string name = text_of(library.name), mapped = text_of(library.mapped);
  const std::vector<Json> locks = judged.policies.locks();
  const Json entry = locks.empty() ? Json() : locked_entry(locks.front(), judged.plugin);
  const Json list = entry["libraries"];
  for (int64_t i = 0; i < list.size(); ++i) {
    if (list[i]["name"].text() != name) continue;
    const std::string expected = list[i]["sha256"].text();
    const std::string found = sha256_text(
        {static_cast<const char*>(library.bytes), static_cast<size_t>(library.byte_count)});
    if (found == expected) return std::nullopt;
    if (mapped.empty()) {
      return refusal(format_text("its library {} has other bytes", quote(list[i]["path"].text())),
                     kLockAgain, hash_text(expected), hash_text(found));
    }
    return refusal(format_text("the process has mapped another library {} from {}", quote(name),
                               quote(mapped)),
                   "start the process with the library that is locked, or lock again in it",
                   hash_text(expected), hash_text(found));
  }
  return refusal(format_text("it links {}, which is not locked with it", quote(name)), kLockAgain);
}

// All that is wrong with plugins under a lock that becomes active.
std::vector<Refusal> review_lock(const PluginLock& lock, const Json& loadable) {
  MadeLock present = make_lock(loadable, &lock);
  std::vector<Refusal> faults = std::move(present.left_out);
  for (Refusal& fault : compare_locks(lock, present.lock)) faults.push_back(std::move(fault));
  const Json loaded = loadable["loaded"];
  for (int64_t i = 0; i < loaded.size(); ++i) {
    const std::string id = loaded[i]["id"].text();
    if (lock.find(id) != nullptr) continue;
    Refusal fault =
        refusal(format_text("it is loaded already, and not in the lock file {}", quote(lock.file)),
                "apply the config before anything of the plugin is used");
    fault.stage = TENON_STAGE_REGISTER;
    fault.plugin = id;
    fault.path = loaded[i]["path"].text();
    faults.push_back(std::move(fault));
  }
  return faults;
}

// Names that an earlier policy has locked keep their providers.
std::vector<Refusal> review_providers(PluginLock lock, const Json& loadable) {
  lock.plugins.clear();
  return compare_locks(lock, make_lock(loadable, &lock).lock);
}

// ---- the table ----

void send(const Refusal& why, const tenon_guard_report& report) {
  tenon_refusal given{};
  given.size = sizeof given;
  given.stage = why.stage;
  given.flags = why.quarantined ? TENON_REFUSAL_QUARANTINED : 0;
  given.plugin = detail::string_of(why.plugin);
  given.path = detail::string_of(why.path);
  given.problem = detail::string_of(why.problem);
  given.expected = detail::string_of(why.expected);
  given.found = detail::string_of(why.found);
  given.remedy = detail::string_of(why.remedy);
  given.place = detail::string_of(why.place);
  report.refuse(report.sink, &given);
}

// Whatever keeps the guard from judging refuses the plugin.
template <class Body>
tenon_status answer(const tenon_guard_report* report, Body&& body) noexcept {
  try {
    std::optional<Refusal> why;
    try {
      why = body();
    } catch (const RefusalError& error) {
      why = error.refusal;
    } catch (const std::exception& error) {
      why = refusal(error.what(), "check the file and its rights");
    }
    if (!why) return TENON_OK;
    send(*why, *report);
  } catch (...) {  // memory ran out: the host reports a guard without a reason
  }
  return TENON_ERROR_PLUGIN;
}

LoadGuard& guard_of(void* self) { return *static_cast<LoadGuard*>(self); }

tenon_load_guard table_of(LoadGuard* guard) {
  tenon_load_guard table{};
  table.size = sizeof table;
  table.self = guard;
  table.adopt = [](void* self, const tenon_json* policy, int32_t applies, tenon_json** kept,
                   int32_t* reviews, tenon_error** error) {
    return detail::guarded(error, [&] {
      Json document = guard_of(self).adopt(Json::borrow(policy), applies != 0);
      *reviews = document["lock"].defined() ? 1 : 0;
      *kept = std::exchange(*document.slot(), nullptr);
    });
  };
  table.review = [](void*, const tenon_json* const* policies, int64_t count, int32_t newest,
                    const tenon_json* given, const tenon_guard_report* report) {
    return answer(report, [&]() -> std::optional<Refusal> {
      const Json loadable = Json::borrow(given);
      std::vector<Refusal> faults;
      for (int64_t i = 0; i < count; ++i) {
        const Json lock = Json::borrow(policies[i])["lock"];
        if (!lock.defined()) continue;
        PluginLock locked = lock_of(lock, lock["file"].text());
        for (Refusal& fault : i == 0 && newest != 0 ? review_lock(locked, loadable)
                                                    : review_providers(std::move(locked), loadable))
          faults.push_back(std::move(fault));
      }
      if (faults.empty()) return std::nullopt;
      for (size_t i = 0; i + 1 < faults.size(); ++i) send(faults[i], *report);
      return faults.back();
    });
  };
  table.wants = [](void*, const tenon_guarded_file* file, uint32_t* wants,
                   const tenon_guard_report* report) {
    return answer(report, [&]() -> std::optional<Refusal> {
      const Judged judged(*file);
      *wants = 0;
      if (judged.policies.judges_bytes() || !judged.pinned.text().empty())
        *wants |= TENON_GUARD_WANTS_BYTES;
      if (!judged.policies.keys().empty()) *wants |= TENON_GUARD_WANTS_FACTS;
      return std::nullopt;
    });
  };
  table.judge = [](void* self, const tenon_guarded_file* file, const tenon_guard_report* report) {
    return answer(report, [&] { return guard_of(self).judge(Judged(*file), *report); });
  };
  table.judge_library = [](void*, const tenon_guarded_file* file,
                           const tenon_guarded_library* library, const tenon_guard_report* report) {
    return answer(report, [&] { return judge_locked_library(Judged(*file), *library); });
  };
  table.before = [](void* self, const tenon_guarded_file* file, void** token,
                    const tenon_guard_report* report) {
    return answer(report, [&] { return guard_of(self).before(Judged(*file), token); });
  };
  table.entered = [](void*, void* token) {
    if (token != nullptr) static_cast<LoadMarker*>(token)->enter_init();
  };
  table.after = [](void*, void* token, int32_t) { delete static_cast<LoadMarker*>(token); };
  table.release = [](void* self) { delete &guard_of(self); };
  return table;
}

bool says_no(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower == "0" || lower == "false" || lower == "off" || lower == "no";
}

std::string variable(const char* name) {
  const char* const value = ::secure_getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

std::string state_folder_of_user() {
  if (says_no(variable("TENON_QUARANTINE"))) return {};
  if (const std::string state = variable("XDG_STATE_HOME"); !state.empty() && state[0] == '/')
    return format_text("{}/tenon", state);
  const std::string home = variable("HOME");
  return home.empty() || home[0] != '/' ? "" : format_text("{}/.local/state/tenon", home);
}

bool install(const GuardOptions& options) {
  start_sodium();
  auto guard = std::make_unique<LoadGuard>(options);
  const tenon_load_guard table = table_of(guard.get());
  try {
    detail::check(tenon_guard_set, &table);
  } catch (const RuntimeError&) {
    return false;
  }
  static_cast<void>(guard.release());  // the host's, until it calls `release`
  return true;
}

void uninstall() { detail::check(tenon_guard_set, nullptr); }

}  // namespace trust

TENON_NAMESPACE_END
