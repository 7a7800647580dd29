// Drawing of learning curves.
#include "learning_curve.hpp"

#include <algorithm>
#include <cmath>

#include <tenon/text.hpp>

#include "format.hpp"
#include "progress.hpp"
#include "text.hpp"

namespace cli {

namespace {

constexpr double kWidth = 720, kHeight = 420;
constexpr double kLeft = 64, kRight = 696, kTop = 64, kBottom = 364;

struct Axis {
  double low, high, step;
  double part(double value) const { return (value - low) / (high - low); }
};

// Ticks at 1, 2 or 5 times a power of ten, about five of them.
double tick_step(double range) {
  const double rough = range / 5;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (rough <= factor * power * 1.0001) return factor * power;
  }
  return 10 * power;
}

Axis epoch_axis(int64_t last) {
  const double high = std::max(2.0, static_cast<double>(last));
  return {1, high, std::max(1.0, tick_step(high - 1))};
}

Axis loss_axis(double largest) {
  const double step = tick_step(largest > 0 ? largest : 1);
  return {0, std::ceil((largest > 0 ? largest : 1) / step) * step, step};
}

double x_of(const Axis& axis, double value) { return kLeft + axis.part(value) * (kRight - kLeft); }
double y_of(const Axis& axis, double value) {
  return kBottom - axis.part(value) * (kBottom - kTop);
}

// Names of files hold what XML does not.
std::string xml_text(const std::string& text) {
  std::string out;
  for (const char c : tenon::printable(text)) {
    if (c == '<')
      out += "&lt;";
    else if (c == '&')
      out += "&amp;";
    else
      out += c;
  }
  return out;
}

std::string place(double x, double y) {
  return format_text(" x=\"{}\" y=\"{}\"", fixed(x, 1), fixed(y, 1));
}

std::string line_element(const char* style, double x1, double y1, double x2, double y2) {
  return format_text("<line class=\"{}\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>\n", style,
                     fixed(x1, 1), fixed(y1, 1), fixed(x2, 1), fixed(y2, 1));
}

std::string label(const char* style, double x, double y, const std::string& text) {
  return format_text("<text class=\"{}\"{}>{}</text>\n", style, place(x, y), xml_text(text));
}

std::string curve(const char* style, const Axis& across, const Axis& up,
                  const std::vector<std::pair<double, double>>& points) {
  std::string list;
  for (const auto& [epoch, loss] : points) {
    list += format_text("{}{},{}", list.empty() ? "" : " ", fixed(x_of(across, epoch), 1),
                        fixed(y_of(up, loss), 1));
  }
  if (points.size() == 1) {
    const auto [epoch, loss] = points.front();
    return format_text("<circle class=\"dot {}\" cx=\"{}\" cy=\"{}\" r=\"4\"/>\n", style,
                       fixed(x_of(across, epoch), 1), fixed(y_of(up, loss), 1));
  }
  return format_text("<polyline class=\"curve {}\" points=\"{}\"/>\n", style, list);
}

std::string legend(const char* style, double x, const std::string& text) {
  return line_element((format_text("curve {}", style)).c_str(), x, kTop - 18, x + 24, kTop - 18) +
         label("text", x + 32, kTop - 14, text);
}

}  // namespace

std::string learning_curve(const std::string& title, const std::vector<Epoch>& epochs) {
  std::vector<std::pair<double, double>> train, test;
  double largest = 0;
  for (const Epoch& epoch : epochs) {
    const auto number = static_cast<double>(epoch.number);
    train.emplace_back(number, epoch.train_loss);
    largest = std::max(largest, epoch.train_loss);
    if (epoch.score) {
      test.emplace_back(number, epoch.score->loss.value_or(0));
      if (std::isfinite(test.back().second)) largest = std::max(largest, test.back().second);
    }
  }
  const Axis across = epoch_axis(epochs.empty() ? 1 : epochs.back().number);
  const Axis up = loss_axis(largest);
  const int digits = std::max(0, static_cast<int>(std::ceil(-std::log10(up.step) - 1e-9)));

  std::string svg = format_text(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" width=\"{}\" height=\"{}\" "
      "role=\"img\">\n<title>{}</title>\n",
      fixed(kWidth, 0), fixed(kHeight, 0), fixed(kWidth, 0), fixed(kHeight, 0), xml_text(title));
  svg +=
      "<style>\n"
      "text { font: 13px system-ui, sans-serif; fill: #57606a; }\n"
      ".title { font-size: 16px; font-weight: 600; fill: #24292f; }\n"
      ".end { text-anchor: end; } .middle { text-anchor: middle; }\n"
      ".grid { stroke: #8c959f; stroke-opacity: 0.25; } .axis { stroke: #8c959f; }\n"
      ".curve { fill: none; stroke-width: 2.5; stroke-linejoin: round; stroke-linecap: round; }\n"
      ".train { stroke: #2f81f7; } .test { stroke: #e8710a; }\n"
      ".dot.train { fill: #2f81f7; } .dot.test { fill: #e8710a; }\n"
      "@media (prefers-color-scheme: dark) { text { fill: #9198a1; } .title { fill: #e6edf3; } }\n"
      "</style>\n";
  svg += label("title", kLeft, 28, title);
  svg += legend("train", kLeft, "train loss");
  if (!test.empty()) svg += legend("test", kLeft + 130, epochs.back().score->part + " loss");
  if (!epochs.empty() && epochs.back().score) {
    for (const auto& metric : epochs.back().score->metrics) {
      if (!metric.number) continue;
      svg += label("end", kRight, kTop - 14,
                   format_text("{} {}", epochs.back().score->part,
                               metric_text(metric.name, *metric.number)));
      break;
    }
  }
  for (int64_t i = 0; static_cast<double>(i) * up.step <= up.high * 1.0001; ++i) {
    const double value = static_cast<double>(i) * up.step;
    const double y = y_of(up, value);
    svg += line_element(i == 0 ? "axis" : "grid", kLeft, y, kRight, y);
    svg += label("end", kLeft - 10, y + 4.5, fixed(value, digits));
  }
  const double first = std::ceil(across.low / across.step) * across.step;
  std::vector<double> ticks = {across.low};
  for (double value = first; value <= across.high + 0.001; value += across.step) {
    if (value - ticks.front() > across.step * 0.6) ticks.push_back(value);
  }
  for (const double value : ticks) {
    const double x = x_of(across, value);
    svg += line_element(value == across.low ? "axis" : "grid", x, kTop, x, kBottom);
    svg += label("middle", x, kBottom + 22, fixed(value, 0));
  }
  svg += label("middle", (kLeft + kRight) / 2, kBottom + 46, "epoch");
  svg += curve("train", across, up, train);
  if (!test.empty()) svg += curve("test", across, up, test);
  return format_text("{}</svg>\n", svg);
}

}  // namespace cli
