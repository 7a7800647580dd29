#include "report_page.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <vector>

#include <tenon/state/atomic_file.hpp>
#include <tenon/training/files.hpp>
#include <tenon/training/trainer.hpp>

#include "cli/learning_curve.hpp"
#include "exit_code.hpp"
#include "format.hpp"
#include "html.hpp"
#include "text.hpp"

namespace cli {

using tenon::Json;
namespace training = tenon::training;

namespace {

constexpr const char* kStyle = R"(
.state { display: inline-block; padding: .1rem .6rem; border-radius: 1rem; border: 1px solid currentColor; font-size: .9rem; }
.finished { color: var(--good); } .interrupted, .running { color: var(--mild); } .failed { color: var(--bad); }
.numbers { display: flex; flex-wrap: wrap; gap: .8rem; margin: 1rem 0; padding: 0; list-style: none; }
.numbers li { background: var(--panel); border-radius: .5rem; padding: .6rem 1rem; min-width: 8rem; }
.numbers b { display: block; font-size: 1.35rem; font-weight: 600; }
.numbers span { color: var(--quiet); font-size: .9rem; }
.curve { max-width: 100%; height: auto; }
.n { display: block; text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.bar { display: inline-block; height: .6rem; background: var(--link); border-radius: .2rem; vertical-align: middle; }
.confusion { width: auto; }
.confusion td, .confusion th { text-align: right; padding: .3rem .55rem; border: 1px solid var(--line); min-width: 2.2rem; }
.worst { display: flex; flex-wrap: wrap; gap: 1rem; padding: 0; list-style: none; }
.worst li { width: 8.5rem; font-size: .85rem; overflow-wrap: anywhere; }
.worst img { width: 8rem; height: 8rem; image-rendering: pixelated; object-fit: contain; background: #000; border-radius: .3rem; display: block; }
.hash { font-size: .8em; color: var(--quiet); overflow-wrap: anywhere; }
@media (max-width: 30rem) {
  .numbers, .worst { display: grid; grid-template-columns: repeat(auto-fill, minmax(8.5rem, 1fr)); }
  .numbers li { min-width: 0; }
  .confusion td, .confusion th { padding: .1rem .2rem; min-width: 1.6rem; font-size: .8rem; }
  .curve { max-width: none; width: 34rem; }
}
@media print { .grid { overflow: visible; } }
)";

std::string base64(std::string_view bytes) {
  static constexpr char digits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t word = 0;
    for (size_t k = 0; k < 3; ++k)
      word = word << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    for (size_t k = 0; k < 4; ++k)
      text += i + k <= bytes.size() ? digits[word >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

std::string safe(const Json& text) { return markup_text(tenon::printable(text.text())); }
std::string safe(const std::string& text) { return markup_text(tenon::printable(text)); }

std::string number_text(const Json& number) {
  if (number.is_null()) return "-";
  const double value = number.number();
  if (!std::isfinite(value)) return std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
  return format_text("{:.4g}", value);
}
std::string count_text(const Json& number) {
  return number.is_null() ? "-" : grouped(number.integer());
}

// A bitmap of 24 bits without compression, its rows from below.
std::string bitmap(const std::vector<uint8_t>& rgb, int64_t width, int64_t height) {
  const int64_t stride = (3 * width + 3) / 4 * 4;
  std::string file;
  const auto add = [&](int64_t number, int bytes) {
    for (int i = 0; i < bytes; ++i) file += static_cast<char>(number >> (8 * i) & 0xFF);
  };
  file += "BM";
  for (const int64_t number :
       {54 + stride * height, int64_t{0}, int64_t{54}, int64_t{40}, width, height})
    add(number, 4);
  add(1, 2);
  add(24, 2);
  for (const int64_t number :
       {int64_t{0}, stride * height, int64_t{2835}, int64_t{2835}, int64_t{0}, int64_t{0}})
    add(number, 4);
  for (int64_t y = height; y-- > 0;) {
    for (int64_t x = 0; x < width; ++x) {
      for (int64_t c = 3; c-- > 0;)
        file += static_cast<char>(rgb[static_cast<size_t>((y * width + x) * 3 + c)]);
    }
    file.append(static_cast<size_t>(stride - 3 * width), '\0');
  }
  return file;
}

// An image of a sample of [rows, columns], or of 1 or 3 such channels; empty: it is not one.
std::string sample_image(const Json& sample) {
  std::vector<int64_t> shape;
  for (int64_t i = 0; i < sample["shape"].size(); ++i)
    shape.push_back(sample["shape"][i].integer());
  if (shape.size() == 2) shape.insert(shape.begin(), 1);
  const Json values = sample["values"];
  if (shape.size() != 3 || (shape[0] != 1 && shape[0] != 3) || shape[1] < 4 || shape[2] < 4 ||
      values.size() != shape[0] * shape[1] * shape[2])
    return "";
  std::vector<double> numbers;
  double low = 0, high = 0;
  for (int64_t i = 0; i < values.size(); ++i) {
    const double value = values[i].is_null() ? 0 : values[i].number();
    numbers.push_back(std::isfinite(value) ? value : 0);
    low = i == 0 ? numbers.back() : std::min(low, numbers.back());
    high = i == 0 ? numbers.back() : std::max(high, numbers.back());
  }
  const double range = high > low ? high - low : 1;
  const int64_t area = shape[1] * shape[2];
  std::vector<uint8_t> rgb;
  for (int64_t p = 0; p < area; ++p) {
    for (int64_t c = 0; c < 3; ++c) {
      const double value = numbers[static_cast<size_t>((shape[0] == 3 ? c : 0) * area + p)];
      rgb.push_back(static_cast<uint8_t>(std::lround(255 * (value - low) / range)));
    }
  }
  return format_text(R"(<img alt="sample {}" src="data:image/bmp;base64,{}">)",
                     sample["sample"].integer(), base64(bitmap(rgb, shape[2], shape[1])));
}

std::string section(const char* title, const std::string& body) {
  return body.empty() ? "" : format_text("<h2>{}</h2>\n{}", title, body);
}

std::string right(const std::string& text) {
  return format_text(R"(<span class="n">{}</span>)", text);
}

// ---- parts ----

std::string where_it_ended(const Json& document) {
  const int64_t done = document["result"]["history"].size(), epochs = document["epochs"].integer();
  const std::string state = document["state"].text();
  if (epochs == 0 || state == "finished") return "";
  std::string text = format_text("{} of {} done", grouped(done), counted(epochs, "epoch"));
  if (const int64_t steps = document["steps_into_epoch"].integer(); steps > 0)
    text += format_text(", and {} of the next", counted(steps, "step"));
  if (state == "running")
    text += format_text("; this page was written {}", safe(document["written"]));
  return format_text("<p>{}.</p>\n", text);
}

std::string head_of(const Json& document) {
  const Json result = document["result"];
  const std::string state = document["state"].text();
  std::string text = format_text(
      "<h1>{}</h1>\n<p class=\"lead\"><span class=\"state {}\">{}</span> {}, {}, {} with seed "
      "{}</p>\n",
      safe(std::filesystem::path(result["config"].text()).filename().string()), safe(state),
      safe(state), safe(document["started"]), duration(document["seconds"].number()),
      result["mode"].text() == "train" ? "training" : "evaluation", result["seed"].integer());
  text += where_it_ended(document);
  if (!document["error"].is_null())
    text += format_text("<pre class=\"fault\">{}</pre>\n", safe(document["error"]));
  std::string numbers;
  const auto add = [&](const std::string& value, const std::string& name) {
    numbers += format_text("<li><b>{}</b><span>{}</span></li>", value, name);
  };
  if (!result["accuracy"].is_null()) add(percent(result["accuracy"].number()), "accuracy");
  if (!result["test_loss"].is_null()) add(number_text(result["test_loss"]), "test loss");
  if (!result["train_loss"].is_null() && result["history"].size() > 0)
    add(number_text(result["history"][result["history"].size() - 1]["train_loss"]), "train loss");
  add(count_text(result["parameters"]), "parameters");
  add(count_text(result["samples"]["train"]), "training samples");
  return text + format_text("<ul class=\"numbers\">{}</ul>\n", numbers);
}

std::string curves_of(const Json& document) {
  const Json history = document["result"]["history"];
  if (history.size() == 0) return "";
  std::vector<Epoch> epochs;
  for (int64_t i = 0; i < history.size(); ++i) {
    Epoch epoch;
    epoch.number = history[i]["epoch"].integer();
    epoch.train_loss = history[i]["train_loss"].number(NAN);
    training::Score score;
    for (int64_t k = 0; k < history[i].size(); ++k) {
      const std::string key = history[i].key(k);
      if (key == "epoch" || key == "train_loss") continue;
      if (key == "test_loss" || key == "validation_loss") {
        score.part = key.substr(0, key.find('_'));
        score.loss = history[i][k].number(NAN);
      } else {
        score.metrics.push_back({key, history[i][k].number(NAN), {}});
      }
    }
    if (score.loss || !score.metrics.empty()) epoch.score = score;
    epochs.push_back(epoch);
  }
  return format_text(
      R"(<div class="grid"><img class="curve" alt="learning curves" src="data:image/svg+xml;base64,{}"></div>)"
      "\n",
      base64(learning_curve("loss and metrics over the epochs", epochs)));
}

std::string confusion_of(const Json& samples) {
  const Json rows = samples["confusion"];
  if (rows.size() == 0) return "";
  std::string text =
      R"(<div class="grid"><table class="confusion"><thead><tr><th>label \ output</th>)";
  for (int64_t c = 0; c < rows.size(); ++c) text += format_text("<th>{}</th>", c);
  text += "</tr></thead>\n<tbody>\n";
  for (int64_t r = 0; r < rows.size(); ++r) {
    int64_t sum = 0;
    for (int64_t c = 0; c < rows.size(); ++c) sum += rows[r][c].integer();
    text += format_text("<tr><th>{}</th>", r);
    for (int64_t c = 0; c < rows.size(); ++c) {
      const int64_t count = rows[r][c].integer();
      const double share = sum == 0 ? 0 : static_cast<double>(count) / static_cast<double>(sum);
      text += count == 0
                  ? std::string("<td></td>")
                  : format_text("<td style=\"background: rgba({}, {:.2f})\">{}</td>",
                                r == c ? "33, 115, 58" : "179, 38, 30", 0.12 + 0.5 * share, count);
    }
    text += "</tr>\n";
  }
  return text + format_text("</tbody></table></div>\n<p>{} of the {} part.</p>\n",
                            counted(samples["count"].integer(), "sample"), safe(samples["part"]));
}

std::string list_text(const Json& values) {
  std::vector<std::string> texts;
  for (int64_t i = 0; i < std::min<int64_t>(values.size(), 8); ++i)
    texts.push_back(number_text(values[i]));
  return join(texts, ", ") + (values.size() > 8 ? ", ..." : "");
}

std::string worst_of(const Json& samples) {
  const Json worst = samples["worst"];
  if (worst.size() == 0) return "";
  const std::string measure = samples["measure"].text();
  std::string text = measure.empty() ? "" : format_text("<p>by {}</p>\n", markup_text(measure));
  text += "<ul class=\"worst\">\n";
  for (int64_t i = 0; i < worst.size(); ++i) {
    const Json sample = worst[i];
    const bool classes = samples["classes"].as_bool();
    std::string image = sample_image(sample);
    if (image.empty()) image = format_text("<code>{}</code><br>", list_text(sample["values"]));
    text += format_text(
        "<li>{}<b>sample {}</b><br>label {}, output {}<br>loss {}</li>\n", image,
        sample["sample"].integer(),
        classes ? std::to_string(sample["target"].integer()) : list_text(sample["target"]),
        classes ? std::to_string(sample["output"].integer()) : list_text(sample["output"]),
        number_text(sample["loss"]));
  }
  return text + "</ul>\n";
}

std::string summary_of(const Json& summary) {
  HtmlTable table({"layer", "type", "output", right("parameters"), right("multiply-adds")});
  const Json layers = summary["layers"];
  for (int64_t i = 0; i < layers.size(); ++i) {
    std::vector<std::string> outputs;
    for (int64_t o = 0; o < layers[i]["outputs"].size(); ++o)
      outputs.push_back(layers[i]["outputs"][o].dump());
    table.add({safe(layers[i]["name"].text().empty() ? "model" : layers[i]["name"].text()),
               safe(layers[i]["type"]), safe(join(outputs, ", ")),
               right(count_text(layers[i]["parameters"])),
               right(count_text(layers[i]["multiply_adds"]))});
  }
  return table.text();
}

std::string profile_table(const Json& entries, const char* name) {
  HtmlTable table(
      std::string_view(name) == "op"
          ? std::vector<std::string>{"op", "plugin", right("calls"), right("time"), right("share"),
                                     ""}
          : std::vector<std::string>{name, right("calls"), right("time"), right("share"), ""});
  for (int64_t i = 0; i < std::min<int64_t>(entries.size(), 30); ++i) {
    const Json entry = entries[i];
    const double share = entry["share"].number(), seconds = entry["seconds"].number();
    std::vector<std::string> cells{code(entry[name].text("-"))};
    if (std::string_view(name) == "op") cells.push_back(safe(entry["provider"].text("-")));
    for (const std::string& text :
         {grouped(entry["calls"].integer()),
          seconds < 1 ? format_text("{:.2f} ms", seconds * 1e3) : format_text("{:.2f} s", seconds),
          percent(share)})
      cells.push_back(right(text));
    cells.push_back(
        format_text(R"(<span class="bar" style="width: {:.2f}rem"></span>)", 10 * share));
    table.add(cells);
  }
  return table.text();
}

std::string versions_of(const Json& document) {
  std::string text =
      format_text("<p>Tenon {}, {} instructions, {}.</p>\n", safe(document["version"]),
                  safe(document["isa"]), counted(document["threads"].integer(), "thread"));
  HtmlTable files({"file", "path", "sha256"}), plugins({"plugin", "version", "path", "sha256"});
  const auto hash = [](const Json& one) {
    return format_text(R"(<span class="hash">{}</span>)", safe(one["sha256"].text("-")));
  };
  const Json all_files = document["files"], all_plugins = document["plugins"];
  for (int64_t i = 0; i < all_files.size(); ++i)
    files.add({safe(all_files[i]["what"]), code(all_files[i]["path"].text()), hash(all_files[i])});
  for (int64_t i = 0; i < all_plugins.size(); ++i)
    plugins.add({safe(all_plugins[i]["id"]), safe(all_plugins[i]["version"]),
                 code(all_plugins[i]["path"].text()), hash(all_plugins[i])});
  return text + files.text() + plugins.text();
}

}  // namespace

std::string report_page(const Json& document) {
  const Json result = document["result"], samples = document["samples"];
  const Json profile = result["profile"];
  const std::string title =
      format_text("{}: {}", std::filesystem::path(result["config"].text()).filename().string(),
                  document["state"].text());
  return format_text(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, "
      "initial-scale=1\">\n<title>{}</title>\n"
      "<link rel=\"icon\" href=\"data:,\">\n<style>\n{}{}</style></head><body>\n<main>\n"
      "{}{}{}{}{}{}{}{}</main>\n</body></html>\n",
      safe(title), kStyleSheet, kStyle, head_of(document), section("Curves", curves_of(document)),
      section("Confusion matrix", confusion_of(samples)),
      section("Samples with the largest loss", worst_of(samples)),
      section("Model", summary_of(document["summary"])),
      section("Time by op", profile_table(profile["ops"], "op")),
      section("Time by module", profile_table(profile["modules"], "module")),
      section("Versions and hashes", versions_of(document)));
}

int write_report(const ReportOptions& options) {
  const Json document = Json::parse(training::read_file(options.document));
  tenon::state::write_file(options.output, report_page(document));
  return kFine;
}

}  // namespace cli
