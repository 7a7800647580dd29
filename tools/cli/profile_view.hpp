// Profiles of commands: what they observe, and their text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <tenon/profile/profile.hpp>

namespace cli {

struct ProfileOptions {
  bool profile = false;
  std::string trace;  // file of events

  bool any() const { return profile || !trace.empty(); }
};

// IOError where the path is a file with something else in it: what a command writes beside its results
// takes the place of nothing that it or another program has made. `beginning`: of all files of the
// kind; `what`: "a trace of calls".
void require_replaceable(const std::string& path, std::string_view beginning, const char* what);

// Observes the calls of this thread from `begin` to `end`, where a profile is asked for.
class ProfileScope {
 public:
  // IOError where the file of events cannot be written.
  explicit ProfileScope(const ProfileOptions& options);
  // The model may be undefined.
  void begin(const tenon::Module& model);
  // Writes the file of events under this title; none where no profile was begun.
  std::optional<tenon::profile::Profile> end(const std::string& title);

 private:
  const ProfileOptions options_;
  std::optional<tenon::profile::Profiler> profiler_;
};

// Tables by op, plugin and module; of each the rows that took longest.
std::string profile_text(const tenon::profile::Profile& profile);

}  // namespace cli
