// Checks of one tensor type, stage by stage.
#include <array>

#include "format.hpp"
#include "type_check.hpp"

namespace cli {

namespace {

struct Stage {
  const char* name;
  void (*check)(TypeCheck&);
};
constexpr std::array kStages{
    Stage{"conversion", check_conversion},     Stage{"object calls", check_object_calls},
    Stage{"gradient", check_object_gradients}, Stage{"files", check_object_files},
    Stage{"threads", check_object_threads},    Stage{"empty objects", check_empty_objects}};

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
    check.run_stage(stage.name, [&] {
      try {
        stage.check(check);
      } catch (const tenon::Error& error) {  // its maker may refuse a second call
        listener.note(format_text("not all {} checks ran: {}", stage.name, error.what()));
      }
    });
  }
  listener.samples(static_cast<int64_t>(check.sources.size()));
}

}  // namespace cli
