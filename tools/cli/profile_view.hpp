// Profiles of commands: what they observe, and their text.
#pragma once

#include <exception>
#include <optional>
#include <string>
#include <string_view>

#include <tenon/profile/profile.hpp>
#include <tenon/record/trace.hpp>

namespace cli {

struct ProfileOptions {
  bool profile = false;
  std::string trace;    // file of events
  std::string results;  // file of what calls return, see tenon diff

  bool times() const { return profile || !trace.empty(); }
  bool any() const { return times() || !results.empty(); }
};

// IOError where the path is a file with something else in it: what a command writes beside its results
// takes the place of nothing that it or another program has made. `beginning`: of all files of the
// kind; `what`: "a trace of calls".
void require_replaceable(const std::string& path, std::string_view beginning, const char* what);

// Observes the calls of this thread from `begin` to `end`, where a profile or a trace of results is asked for.
class ProfileScope {
 public:
  // IOError where a file cannot be written.
  explicit ProfileScope(const ProfileOptions& options);
  // The model may be undefined. `title` is that of the files; `config`, a file, and the seed are noted in the
  // trace of results.
  void begin(const tenon::Module& model, const std::string& title, const std::string& config,
             uint64_t seed);
  // Writes the file of events, and ends that of results; none where no profile was begun. What cannot be
  // written is the `fault`, which the command throws when its own results are printed.
  std::optional<tenon::profile::Profile> end(std::exception_ptr& fault);

 private:
  const ProfileOptions options_;
  std::string title_;
  std::optional<tenon::profile::Profiler> profiler_;
  std::optional<tenon::record::TraceRecorder> recorder_;
};

// Tables by op, plugin and module; of each the rows that took longest.
std::string profile_text(const tenon::profile::Profile& profile);

}  // namespace cli
