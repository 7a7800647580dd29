// Results of a run in words and as JSON.
#include "run_result.hpp"

#include <cmath>
#include <cstdio>

#include "format.hpp"
#include "json.hpp"
#include "profile_view.hpp"
#include "table.hpp"
#include "terminal.hpp"
#include "text.hpp"

namespace cli {

namespace training = tenon::training;

using tenon::Json;

namespace {

// How many labels an accuracy counts as right.
int64_t correct_of(const training::Score& score, double accuracy) {
  return std::llround(accuracy * static_cast<double>(score.labels));
}

Json metric_json(const training::MetricResult& metric) {
  if (metric.number) return tenon::JsonArray().add(*metric.number).json()[0];
  tenon::JsonArray values, shape;
  for (const double value : metric.tensor.to_vector<double>()) values.add(value);
  for (const int64_t size : metric.tensor.shape()) shape.add(size);
  return tenon::JsonObject().set("shape", shape.json()).set("values", values.json()).json();
}

void set_score(tenon::JsonObject& object, const training::Score& score) {
  if (score.loss) object.set("test_loss", *score.loss);
  if (const auto accuracy = score.find("accuracy"))
    object.set("accuracy", *accuracy).set("correct", correct_of(score, *accuracy));
  tenon::JsonObject metrics;
  for (const training::MetricResult& metric : score.metrics)
    metrics.set(metric.name, metric_json(metric));
  object.set("metrics", metrics.json());
}

std::string norm_text(double norm) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", norm);
  return text;
}
// A number that JSON has, or null.
Json norm_json(double norm) {
  tenon::JsonArray one;
  return std::isfinite(norm) ? one.add(norm).json()[0] : Json::parse("null");
}

Json norms_json(const RunResult& result) {
  const training::SampleNorms& norms = *result.norms;
  tenon::JsonArray most;
  for (const training::SampleNorm& one : norms.most)
    most.add(tenon::JsonObject().set("sample", one.sample).set("norm", norm_json(one.norm)).json());
  return tenon::JsonObject()
      .set("part", result.norms_part)
      .set("count", norms.count)
      .set("largest", norm_json(norms.largest))
      .set("median", norm_json(norms.median))
      .set("least", norm_json(norms.least))
      .set("samples", most.json())
      .json();
}

void print_norms(const RunResult& result, RunLog& log) {
  const training::SampleNorms& norms = *result.norms;
  const std::string head =
      format_text("gradient norms of {}: largest {}, median {}, least {}\n",
                  counted(norms.count, result.norms_part + " sample"), norm_text(norms.largest),
                  norm_text(norms.median), norm_text(norms.least));
  Table table({{"sample", Align::right}, {"norm", Align::right}}, 2);
  for (const training::SampleNorm& one : norms.most)
    table.add({grouped(one.sample), norm_text(one.norm)});
  print(head + table.text());
  log.add(plain_text(head + table.text()));
}

Json counts_json(const RunResult& result) {
  tenon::JsonObject counts;
  counts.set("train", result.train_count);
  if (result.validation_count > 0) counts.set("validation", result.validation_count);
  return counts.set("test", result.test_count).json();
}

void add_score(Table& table, const training::Score& score) {
  if (score.loss) table.add({"test loss", loss_text(*score.loss)});
  for (const training::MetricResult& metric : score.metrics) {
    if (!metric.number) continue;
    if (metric.name != "accuracy") {
      table.add({metric.name, fixed(*metric.number, 4)});
      continue;
    }
    table.add({"accuracy",
               {format_text("{} ({} of {})", percent(*metric.number),
                            grouped(correct_of(score, *metric.number)), grouped(score.labels)),
                Style::green}});
  }
}

}  // namespace

Json epoch_json(const Epoch& epoch) {
  tenon::JsonObject object;
  object.set("epoch", epoch.number).set("train_loss", epoch.train_loss);
  if (epoch.score) {
    if (epoch.score->loss) object.set(epoch.score->part + "_loss", *epoch.score->loss);
    for (const training::MetricResult& metric : epoch.score->metrics) {
      if (metric.number) object.set(metric.name, *metric.number);
    }
  }
  return object.json();
}

Json result_json(const RunResult& result) {
  tenon::JsonObject object;
  object.set("config", result.config)
      .set("mode", result.trained ? "train" : "evaluate")
      .set("seed", static_cast<int64_t>(result.seed))
      .set("samples", counts_json(result))
      .set("parameters", result.parameters);
  if (result.trained) {
    object.set("epochs", static_cast<int64_t>(result.epochs.size()))
        .set("train_loss", result.train_loss);
  }
  if (result.score) set_score(object, *result.score);
  if (result.validation) {
    tenon::JsonObject part;
    if (result.validation->loss) part.set("loss", *result.validation->loss);
    for (const training::MetricResult& metric : result.validation->metrics)
      part.set(metric.name, metric_json(metric));
    object.set("validation", part.json());
  }
  if (result.norms) object.set("per_sample_norms", norms_json(result));
  object.set("seconds", result.seconds).set("samples_per_second", result.rate());
  if (result.trained) {
    tenon::JsonArray history;
    for (const Epoch& epoch : result.epochs) history.add(epoch_json(epoch));
    object.set("history", history.json());
    if (result.best_epoch) object.set("best_epoch", *result.best_epoch);
  }
  if (result.profile) object.set("profile", tenon::profile::document(*result.profile));
  return object.set("weights", text_or_null(result.weights))
      .set("plot", text_or_null(result.plot))
      .json();
}

void print_result(const RunResult& result, RunLog& log) {
  std::string head = format_text("{}: ", paint(stdout, Style::bold, result.config_name()));
  const std::string model = format_text("a model of {}", counted(result.parameters, "parameter"));
  if (result.trained) {
    head += format_text("{}, {} on {}", model,
                        counted(static_cast<int64_t>(result.epochs.size()), "epoch"),
                        counted(result.train_count, "sample"));
    if (result.test_count > 0) head += format_text(", tested on {}", grouped(result.test_count));
  } else {
    head += format_text("{}, evaluated on {}", model, counted(result.score->count, "sample"));
  }
  if (result.validation_count > 0)
    head += format_text(", validated on {}", grouped(result.validation_count));
  print(format_text("{}\n", head));
  log.add(plain_text(head));
  Table table = Table::of_facts();
  if (result.trained) table.add({"train loss", loss_text(result.train_loss)});
  if (result.validation) {
    if (result.validation->loss)
      table.add({"validation loss", loss_text(*result.validation->loss)});
    for (const training::MetricResult& metric : result.validation->metrics) {
      if (metric.number)
        table.add({"validation " + metric.name, metric_value(metric.name, *metric.number)});
    }
  }
  if (result.score) add_score(table, *result.score);
  if (result.best_epoch) table.add({"best epoch", grouped(*result.best_epoch)});
  table.add({"time", duration(result.seconds)});
  table.add({"speed", format_text("{} samples/s", grouped(static_cast<int64_t>(result.rate())))});
  if (!result.weights.empty()) {
    table.add({result.trained ? "weights" : "weights of", result.weights});
  }
  if (!result.plot.empty()) table.add({"plot", result.plot});
  print(table.text());
  log.add(plain_text(table.text()));
  if (result.norms) print_norms(result, log);
  if (result.score) {
    for (const training::MetricResult& metric : result.score->metrics) {
      if (!metric.number) print(format_text("  {}\n{}\n", metric.name, metric.tensor.text()));
    }
  }
  if (result.profile) print("\n" + profile_text(*result.profile));
}

}  // namespace cli
