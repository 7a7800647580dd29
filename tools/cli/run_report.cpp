#include "run_report.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <limits>
#include <numeric>

#include <tenon/abi/version.h>
#include <tenon/grad_mode.hpp>
#include <tenon/listing/listing.hpp>
#include <tenon/ops.hpp>
#include <tenon/parallel.hpp>
#include <tenon/runtime.hpp>
#include <tenon/state/atomic_file.hpp>
#include <tenon/trust/child_process.hpp>
#include <tenon/trust/sha256.hpp>

#include "exit_code.hpp"
#include "format.hpp"
#include "json.hpp"
#include "private_folder.hpp"
#include "terminal.hpp"
#include "text.hpp"

namespace cli {

namespace training = tenon::training;
using tenon::Json;
using tenon::JsonArray;
using tenon::JsonObject;
using tenon::Tensor;

namespace {

using Clock = std::chrono::steady_clock;

constexpr double kSecondsBetweenPages = 5;
constexpr double kMostSeconds = 120;  // limit of the program that makes a page
constexpr size_t kWorstSamples = 24;
constexpr int64_t kMostClasses = 100;       // limit of a confusion matrix
constexpr int64_t kMostElements = 1 << 16;  // limit of a sample that is shown

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts);
  return text;
}

std::string hash_of_file(const std::string& path) {
  try {
    return path.empty() ? "" : tenon::trust::sha256_file(path);
  } catch (const tenon::Error&) {
    return "";  // not there yet, or not readable: the page has no hash
  }
}

JsonArray shape_json(const std::vector<int64_t>& shape) {
  JsonArray list;
  for (const int64_t size : shape) list.add(size);
  return list;
}

Json summary_json(const training::ModelSummary& summary) {
  JsonArray layers;
  for (const training::LayerSummary& layer : summary.layers) {
    JsonArray outputs;
    for (const auto& shape : layer.outputs) outputs.add(shape_json(shape).json());
    layers.add(JsonObject()
                   .set("name", layer.name)
                   .set("type", layer.type)
                   .set("outputs", outputs.json())
                   .set("parameters", layer.parameters)
                   .set("multiply_adds", layer.multiply_adds)
                   .json());
  }
  return JsonObject()
      .set("layers", layers.json())
      .set("parameters", summary.parameters)
      .set("trainable", summary.trainable)
      .set("bytes", summary.bytes)
      .set("multiply_adds", summary.multiply_adds)
      .json();
}

Json plugins_json() {
  JsonArray list;
  const Json plugins = tenon::listing::plugins();
  for (int64_t i = 0; i < plugins.size(); ++i) {
    if (plugins[i]["state"].text() != "active") continue;
    const std::string path = plugins[i]["path"].text();
    list.add(JsonObject()
                 .set("id", plugins[i]["id"].text())
                 .set("version", plugins[i]["version"].text())
                 .set("path", path)
                 .set("sha256", hash_of_file(path))
                 .json());
  }
  return list.json();
}

Json files_json(const std::vector<std::pair<const char*, std::string>>& files) {
  JsonArray list;
  for (const auto& [what, path] : files) {
    if (path.empty()) continue;
    list.add(
        JsonObject().set("what", what).set("path", path).set("sha256", hash_of_file(path)).json());
  }
  return list.json();
}

// Outputs and targets of samples as numbers, row by row.
struct Scored {
  int64_t count = 0, width = 1;
  bool classes = false;
  std::vector<double> outputs, targets;

  double at(int64_t row, int64_t column) const {
    return outputs[static_cast<size_t>(row * width + column)];
  }
  int64_t label(int64_t row) const {
    return static_cast<int64_t>(targets[static_cast<size_t>(row)]);
  }
  int64_t predicted(int64_t row) const {
    int64_t best = 0;
    for (int64_t c = 1; c < width; ++c) {
      if (at(row, c) > at(row, best)) best = c;
    }
    return best;
  }
  // Cross-entropy of the class, or the mean squared error.
  double loss(int64_t row) const {
    if (!classes) {
      double sum = 0;
      for (int64_t c = 0; c < width; ++c)
        sum += std::pow(at(row, c) - targets[static_cast<size_t>(row * width + c)], 2);
      return sum / static_cast<double>(width);
    }
    double most = -std::numeric_limits<double>::infinity(), sum = 0;
    for (int64_t c = 0; c < width; ++c) most = std::max(most, at(row, c));
    for (int64_t c = 0; c < width; ++c) sum += std::exp(at(row, c) - most);
    return most + std::log(sum) - at(row, label(row));
  }
};

// Numbers that a loss of each sample follows from: scores of classes with a class for each sample, or numbers in the
// shape of the targets.
std::optional<Scored> score_samples(const Tensor& outputs, const Tensor& labels) {
  Scored scored;
  scored.count = outputs.size(0);
  if (scored.count == 0 || labels.size(0) != scored.count) return {};
  scored.width = outputs.numel() / scored.count;
  const bool whole = !tenon::is_floating(labels.dtype());
  if (whole && labels.dim() == 1 && outputs.dim() == 2 && scored.width > 1)
    scored.classes = true;
  else if (labels.numel() != outputs.numel())
    return {};
  scored.outputs = outputs.to_vector<double>();
  scored.targets = labels.to_vector<double>();
  if (!scored.classes) return scored;
  const bool known = std::all_of(scored.targets.begin(), scored.targets.end(), [&](double label) {
    return label >= 0 && label < static_cast<double>(scored.width);
  });
  return known ? std::optional(std::move(scored)) : std::nullopt;
}

Json confusion_json(const Scored& scored) {
  std::vector<int64_t> counts(static_cast<size_t>(scored.width * scored.width));
  for (int64_t row = 0; row < scored.count; ++row)
    ++counts[static_cast<size_t>(scored.label(row) * scored.width + scored.predicted(row))];
  JsonArray rows;
  for (int64_t label = 0; label < scored.width; ++label) {
    JsonArray row;
    for (int64_t predicted = 0; predicted < scored.width; ++predicted)
      row.add(counts[static_cast<size_t>(label * scored.width + predicted)]);
    rows.add(row.json());
  }
  return rows.json();
}

// Losses of single samples, and what they are by.
struct SampleLosses {
  std::vector<double> of;
  std::string measure;
};
SampleLosses losses_of(const Scored& scored, const Tensor& outputs, const Tensor& labels,
                       const training::Loss* loss) {
  SampleLosses losses{{}, scored.classes ? "cross-entropy" : "squared error"};
  losses.of.reserve(static_cast<size_t>(scored.count));
  try {
    const tenon::NoGrad no_grad;
    for (int64_t row = 0; loss != nullptr && row < scored.count; ++row)
      losses.of.push_back(
          (*loss)(tenon::narrow(outputs, 0, row, 1), tenon::narrow(labels, 0, row, 1))
              .item<double>());
    if (loss != nullptr) losses.measure = loss->choice().op().name();
  } catch (const tenon::Error& error) {
    // A loss that takes no single sample.
    if (error.kind() == TENON_ERROR_INTERRUPTED) throw;
    losses.of.clear();
  }
  for (auto row = static_cast<int64_t>(losses.of.size()); row < scored.count; ++row)
    losses.of.push_back(scored.loss(row));
  return losses;
}

Json sample_json(const Scored& scored, const training::Samples& samples, int64_t row, double loss) {
  const training::Samples one = samples.narrow(row, 1);
  JsonObject object;
  object.set("sample", one.rows.defined() ? one.rows.to_vector<int64_t>().front() : row);
  object.set("loss", loss);
  if (scored.classes) {
    object.set("target", scored.label(row)).set("output", scored.predicted(row));
  } else {
    JsonArray targets, outputs;
    for (int64_t c = 0; c < std::min<int64_t>(scored.width, 8); ++c) {
      targets.add(scored.targets[static_cast<size_t>(row * scored.width + c)]);
      outputs.add(scored.at(row, c));
    }
    object.set("target", targets.json()).set("output", outputs.json());
  }
  const Tensor& input = one.inputs;
  std::vector<int64_t> shape = input.sizes();
  shape.erase(shape.begin());
  object.set("shape", shape_json(shape).json());
  if (input.numel() <= kMostElements) {
    JsonArray values;
    for (const double value : input.to_vector<double>()) values.add(value);
    object.set("values", values.json());
  }
  return object.json();
}

// Message of a child of the program: without its name and the line's end.
std::string without_head(std::string message) {
  constexpr std::string_view head = "tenon: ";
  if (message.rfind(head, 0) == 0) message.erase(0, head.size());
  message.erase(message.find_last_not_of(" \n") + 1);
  return message;
}

}  // namespace

RunReport::RunReport(std::string path, const training::TrainingConfig& config, RunResult& result)
    : path_(std::move(path)),
      config_(config),
      result_(result),
      started_(utc_now()),
      start_(Clock::now()) {
  if (path_.empty()) return;
  if (std::filesystem::path(path_).extension() != ".html")
    throw UsageError(format_text("--report must end in .html, got '{}'", path_));
  program_ =
      (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "tenon-catalogue").string();
  if (!std::filesystem::exists(program_))
    throw tenon::IOError(format_text(
        "--report: the program '{}' is not there; build it with `cmake --build build --target "
        "tenon_catalogue`, as tools/test does, or install Tenon with it",
        program_));
}

void RunReport::add_summary() {
  if (!any()) return;
  try {
    summary_ = summary_json(training::summarize_model(config_, {}, false));
  } catch (const tenon::Error&) {  // a model without a summary has a report all the same
  }
}

void RunReport::begin(int64_t epochs) {
  if (!any() || !result_.first_rank) return;
  epochs_ = epochs;
  write();
}

void RunReport::epoch_done(const Epoch& epoch) {
  if (!any() || !result_.first_rank) return;
  steps_ = 0;
  result_.epochs.push_back(epoch);
  const double passed = std::chrono::duration<double>(Clock::now() - written_).count();
  if (passed < kSecondsBetweenPages) return;
  try {
    write();
  } catch (const tenon::IOError& error) {
    // The training is worth more than a page of its middle; that of its end reports what is wrong.
    written_ = Clock::now();
    if (!warned_) print(stderr, format_text("tenon: {}; the training continues\n", error.what()));
    warned_ = true;
  }
}

void RunReport::add_samples(tenon::Module& model, const training::Samples& samples,
                            const std::string& part, int64_t batch_size,
                            const training::Loss* loss) {
  if (!any() || !result_.first_rank || samples.count() == 0 || !samples.labels.defined()) return;
  const Tensor outputs = training::predict(model, samples.inputs, batch_size);
  const std::optional<Scored> scored = score_samples(outputs, samples.labels);
  if (!scored) return;
  JsonObject object;
  object.set("part", part).set("count", scored->count);
  if (scored->classes && scored->width <= kMostClasses)
    object.set("confusion", confusion_json(*scored));
  std::vector<int64_t> order(static_cast<size_t>(scored->count));
  std::iota(order.begin(), order.end(), 0);
  const SampleLosses losses = losses_of(*scored, outputs, samples.labels, loss);
  const auto loss_of = [&](int64_t row) {
    const double one = losses.of[static_cast<size_t>(row)];
    return std::isnan(one) ? std::numeric_limits<double>::infinity() : one;
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t one, int64_t other) { return loss_of(one) > loss_of(other); });
  order.resize(std::min(order.size(), kWorstSamples));
  JsonArray worst;
  for (const int64_t row : order)
    worst.add(sample_json(*scored, samples, row, losses.of[static_cast<size_t>(row)]));
  samples_ = object.set("classes", scored->classes)
                 .set("measure", losses.measure)
                 .set("worst", worst.json())
                 .json();
}

void RunReport::end(const std::string& state) {
  if (!any() || !result_.first_rank) return;
  state_ = state;
  write();
}

void RunReport::fail(const std::string& error) noexcept {
  try {
    error_ = error;
    end("failed");
  } catch (...) {
  }
}

Json RunReport::document() const {
  JsonObject object;
  object.set("state", state_)
      .set("error", text_or_null(error_))
      .set("started", started_)
      .set("written", utc_now())
      .set("seconds", std::chrono::duration<double>(Clock::now() - start_).count())
      .set("epochs", epochs_)
      .set("steps_into_epoch", steps_)
      .set("result", result_json(result_))
      .set("threads", int64_t{tenon::thread_count()})
      .set("version",
           format_text("{}.{}.{}", TENON_VERSION_MAJOR, TENON_VERSION_MINOR, TENON_VERSION_PATCH))
      .set("isa", tenon::document(tenon::Document::runtime)["isa"].text())
      .set("plugins", plugins_json())
      .set("files", files_json({{"config", result_.config},
                                {"data", config_.data.path},
                                {"weights", state_ == "finished" ? result_.weights : ""}}));
  if (summary_.defined()) object.set("summary", summary_);
  if (samples_.defined()) object.set("samples", samples_);
  return object.json();
}

void RunReport::write() {
  const PrivateFolder folder;
  const std::string file = folder.path() + "/report.json";
  tenon::state::write_file(file, document().dump());
  tenon::trust::ChildCommand command;
  command.program = program_;
  command.arguments = {"tenon-catalogue", "report", "document=" + file, "output=" + path_};
  tenon::trust::ChildProcess process(command);
  const bool ended = process.wait(kMostSeconds);
  if (!ended || process.status() != 0)
    throw tenon::IOError(format_text("cannot write the report '{}': {}", path_,
                                     !ended ? "it was not made in time"
                                     : process.output().empty()
                                         ? "the program that makes it has failed"
                                         : without_head(process.output())));
  written_ = Clock::now();
}

}  // namespace cli
