// Checks of one tensor type, stage by stage.
#include <algorithm>
#include <array>
#include <limits>

#include "format.hpp"
#include "type_check.hpp"

namespace cli {

namespace {

struct Stage {
  const char* name;
  void (*check)(TypeCheck&, const ObjectSource&);
  size_t most;  // number of sources: all, or the first
};
constexpr size_t kAll = std::numeric_limits<size_t>::max();
constexpr std::array kStages{Stage{"conversion", check_conversion, kAll},
                             Stage{"object calls", check_object_calls, kAll},
                             Stage{"gradient", check_object_gradients, kAll},
                             Stage{"files", check_object_files, kAll},
                             Stage{"threads", check_object_threads, 1},
                             Stage{"leaks", check_object_leaks, 1},
                             Stage{"empty objects", check_empty_objects, 1}};

void run(const Stage& stage, TypeCheck& check) {
  for (size_t s = 0; s < std::min(stage.most, check.sources.size()); ++s) {
    try {
      stage.check(check, check.sources[s]);
    } catch (const tenon::Error& error) {  // its maker may refuse a second call
      check.listener.note(format_text("not all {} checks ran: {}", stage.name, error.what()));
    }
  }
}

}  // namespace

void check_type(const std::string& type, const CheckSettings& settings, CheckListener& listener) {
  TypeCheck check(type, settings, listener);
  check.run_stage("objects", [&] {
    Objects objects =
        find_objects(type, settings.seed, [&](const Sample& sample) { listener.trying(sample); });
    check.sources = std::move(objects.sources);
    if (check.sources.empty()) listener.skip(objects.reason);
  });
  if (check.sources.empty()) return;
  for (const Stage& stage : kStages) {
    check.run_stage(stage.name, [&] { run(stage, check); });
  }
  listener.samples(static_cast<int64_t>(check.sources.size()));
}

}  // namespace cli
