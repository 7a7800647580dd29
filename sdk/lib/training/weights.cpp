// Weights that are not lost, and the note that is kept with them.
#include <filesystem>
#include <unistd.h>

#include <tenon/state/module_file.hpp>
#include <tenon/state/tensor_file.hpp>
#include <tenon/training/weights.hpp>

#include "lib/base/format.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

namespace {

constexpr const char* kNote = "tenon.run";

std::string note_text(const WeightsNote& note) {
  return JsonObject()
      .set("seed", static_cast<int64_t>(note.seed))
      .set("split", note.split)
      .set("epoch", note.epoch)
      .set("fitted", note.fitted)
      .json()
      .dump();
}

}  // namespace

void save_weights(const Module& module, const std::string& path, const WeightsNote& note) {
  const Json metadata = JsonObject().set(kNote, note_text(note)).json();
  try {
    return state::save(module, path, metadata);
  } catch (const IOError& error) {
    namespace files = std::filesystem;
    std::error_code code;
    const std::string name =
        lib::format_text("{}.{}", files::path(path).filename().string(), getpid());
    for (const files::path& folder :
         {files::temp_directory_path(code), files::current_path(code), files::path("/dev/shm")}) {
      const std::string kept = folder / name;
      try {
        state::save(module, kept, metadata);
      } catch (const IOError&) {
        continue;
      }
      throw IOError(lib::format_text("{}; the weights are kept in '{}'", error.what(), kept));
    }
    throw;
  }
}

void load_weights(Module& model, const std::string& path) {
  try {
    state::load(model, path);
  } catch (const RuntimeError& error) {
    throw RuntimeError(lib::format_text("'{}' does not fit the model: {}", path, error.what()));
  }
}

std::optional<WeightsNote> weights_note(const std::string& path) {
  const Json text = state::metadata(path)[kNote];
  if (!text.defined()) return std::nullopt;
  const Json note = Json::parse(text.text());
  return WeightsNote{static_cast<uint64_t>(note["seed"].integer()), note["split"].text(),
                     note["epoch"].integer(), note["fitted"].text()};
}

uint64_t evaluation_seed(const TrainingConfig& config, const std::string& weights,
                         const std::optional<uint64_t>& asked) {
  const std::optional<WeightsNote> note = weights_note(weights);
  if (!note) return asked.value_or(config.seed);
  if (asked && *asked != note->seed)
    throw ValueError(lib::format_text(
        "'{}' was trained with seed {}: with seed {} it would be measured on samples "
        "that it was trained on; omit --seed",
        weights, note->seed, *asked));
  const std::string split = config.split.section.dump();
  if (note->split != split)
    throw ValueError(
        lib::format_text("{}: '{}' was trained with the split {}, the config has {}: it would be "
                         "measured on samples that it was trained on",
                         config.split.section.place(), weights, note->split, split));
  return note->seed;
}

}  // namespace training

TENON_NAMESPACE_END
