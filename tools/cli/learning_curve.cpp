// Drawing of learning curves: one panel for the loss, one for each metric.
#include "learning_curve.hpp"

#include <algorithm>
#include <cmath>

#include <tenon/text.hpp>

#include "format.hpp"
#include "text.hpp"

namespace cli {

namespace {

// A picture of panels, one above the other: the loss, then each metric.
constexpr double kWidth = 720, kLeft = 64, kRight = 696;
constexpr double kTop = 64, kPanelHeight = 300, kMetricHeight = 150, kPanelGap = 64;
constexpr double kBelow = 56;  // the last panel's ticks and the word "epoch"

struct Axis {
  double low, high, step;
  double part(double value) const { return (value - low) / (high - low); }
};

// Ticks at 1, 2 or 5 times a power of ten, about `count` of them.
double tick_step(double range, double count) {
  const double rough = range / count;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (rough <= factor * power * 1.0001) return factor * power;
  }
  return 10 * power;
}

Axis epoch_axis(int64_t last) {
  const double high = std::max(2.0, static_cast<double>(last));
  return {1, high, std::max(1.0, tick_step(high - 1, 5))};
}

using Points = std::vector<std::pair<double, double>>;

// One curve: its style is a class of the style sheet.
struct Series {
  const char* style;
  std::string name;
  Points points;
};

struct Panel {
  double top, height;
  std::vector<Series> series;
  Axis up{0, 1, 1};

  double bottom() const { return top + height; }
  double y(double value) const { return bottom() - up.part(value) * height; }
};

// From 0, or from the smallest value, to the largest one, between ticks.
Axis value_axis(const std::vector<Series>& series, bool from_zero, double ticks) {
  double low = from_zero ? 0 : INFINITY, high = from_zero ? 0 : -INFINITY;
  for (const Series& one : series) {
    for (const auto& [epoch, value] : one.points) {
      if (!std::isfinite(value)) continue;
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  if (!(low < high)) {
    low = std::isfinite(low) ? std::min(low, 0.0) : 0;
    high = std::isfinite(high) && high > low ? high : low + 1;
  }
  const double step = tick_step(high - low, ticks);
  return {std::floor(low / step) * step, std::ceil(high / step) * step, step};
}

double x_of(const Axis& axis, double value) { return kLeft + axis.part(value) * (kRight - kLeft); }

// Names of files hold what XML does not.
std::string xml_text(const std::string& text) { return markup_text(tenon::printable(text)); }

std::string place(double x, double y) {
  return format_text(R"( x="{}" y="{}")", fixed(x, 1), fixed(y, 1));
}

std::string line_element(const char* style, double x1, double y1, double x2, double y2) {
  return format_text("<line class=\"{}\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>\n", style,
                     fixed(x1, 1), fixed(y1, 1), fixed(x2, 1), fixed(y2, 1));
}

std::string label(const char* style, double x, double y, const std::string& text) {
  return format_text("<text class=\"{}\"{}>{}</text>\n", style, place(x, y), xml_text(text));
}

std::string curve(const Series& series, const Axis& across, const Panel& panel) {
  const auto at = [&](const std::pair<double, double>& point) {
    return std::pair(fixed(x_of(across, point.first), 1), fixed(panel.y(point.second), 1));
  };
  std::string list;
  for (const auto& point : series.points) {
    if (!std::isfinite(point.second)) continue;
    const auto [x, y] = at(point);
    list += format_text("{}{},{}", list.empty() ? "" : " ", x, y);
  }
  if (list.empty()) return "";
  if (series.points.size() == 1) {
    const auto [x, y] = at(series.points.front());
    return format_text("<circle class=\"dot {}\" cx=\"{}\" cy=\"{}\" r=\"4\"/>\n", series.style, x,
                       y);
  }
  return format_text("<polyline class=\"curve {}\" points=\"{}\"/>\n", series.style, list);
}

std::string legend(const Panel& panel) {
  std::string svg;
  double x = kLeft;
  for (const Series& series : panel.series) {
    const double y = panel.top - 18;
    svg += line_element(format_text("curve {}", series.style).c_str(), x, y, x + 24, y) +
           label("text", x + 32, y + 4, series.name);
    x += 64 + 7.5 * static_cast<double>(display_width(series.name));
  }
  return svg;
}

std::string grid(const Axis& across, const Panel& panel) {
  std::string svg;
  const Axis& up = panel.up;
  const int digits = std::max(0, static_cast<int>(std::ceil(-std::log10(up.step) - 1e-9)));
  const auto rows = std::llround((up.high - up.low) / up.step);
  for (int64_t i = 0; i <= rows; ++i) {
    const double value = up.low + static_cast<double>(i) * up.step;
    const double y = panel.y(value);
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
    svg += line_element(value == across.low ? "axis" : "grid", x, panel.top, x, panel.bottom());
    svg += label("middle", x, panel.bottom() + 22, fixed(value, 0));
  }
  return svg;
}

// The loss of the training and of what each epoch is measured on, then each metric that is a number.
std::vector<Panel> panels_of(const std::vector<Epoch>& epochs) {
  Panel loss{kTop, kPanelHeight, {{"train", "train loss", {}}}};
  std::vector<Panel> panels;
  for (const Epoch& epoch : epochs) {
    const auto number = static_cast<double>(epoch.number);
    loss.series[0].points.emplace_back(number, epoch.train_loss);
    if (!epoch.score) continue;
    if (epoch.score->loss) {
      if (loss.series.size() == 1) loss.series.push_back({"test", epoch.score->part + " loss", {}});
      loss.series[1].points.emplace_back(number, *epoch.score->loss);
    }
    for (const auto& metric : epoch.score->metrics) {
      if (!metric.number) continue;
      const std::string name = epoch.score->part + " " + metric.name;
      auto found = std::find_if(panels.begin(), panels.end(),
                                [&](const Panel& panel) { return panel.series[0].name == name; });
      if (found == panels.end())
        found = panels.insert(found, Panel{0, kMetricHeight, {{"test", name, {}}}});
      found->series[0].points.emplace_back(number, *metric.number);
    }
  }
  panels.insert(panels.begin(), std::move(loss));
  double top = kTop;
  for (Panel& panel : panels) {
    panel.top = top;
    panel.up = value_axis(panel.series, panel.height == kPanelHeight,
                          panel.height == kPanelHeight ? 5 : 3);
    top = panel.bottom() + kPanelGap;
  }
  return panels;
}

}  // namespace

std::string learning_curve(const std::string& title, const std::vector<Epoch>& epochs) {
  const std::vector<Panel> panels = panels_of(epochs);
  const Axis across = epoch_axis(epochs.empty() ? 1 : epochs.back().number);
  const std::string width = fixed(kWidth, 0), height = fixed(panels.back().bottom() + kBelow, 0);
  std::string svg = format_text(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" width=\"{}\" height=\"{}\" "
      "role=\"img\">\n<title>{}</title>\n",
      width, height, width, height, xml_text(title));
  svg +=
      "<style>\n"
      "svg { color-scheme: light dark; }\n"
      // Outlined in the colour of the ground, so that they are read on a page of the other scheme, too.
      "text { font: 13px system-ui, sans-serif; fill: #57606a; paint-order: stroke; stroke: white; "
      "stroke-width: 3px; stroke-linejoin: round; }\n"
      ".title { font-size: 16px; font-weight: 600; fill: #24292f; }\n"
      ".end { text-anchor: end; } .middle { text-anchor: middle; }\n"
      ".grid { stroke: #8c959f; stroke-opacity: 0.25; } .axis { stroke: #8c959f; }\n"
      ".curve { fill: none; stroke-width: 2.5; stroke-linejoin: round; stroke-linecap: round; }\n"
      ".train { stroke: #2f81f7; } .test { stroke: #e8710a; }\n"
      ".dot.train { fill: #2f81f7; } .dot.test { fill: #e8710a; }\n"
      "@media (prefers-color-scheme: dark) { text { fill: #9198a1; stroke: #14171b; } "
      ".title { fill: #e6edf3; } }\n"
      "</style>\n";
  svg += label("title", kLeft, 28, title);
  for (const Panel& panel : panels) {
    svg += legend(panel) + grid(across, panel);
    for (const Series& series : panel.series) svg += curve(series, across, panel);
  }
  svg += label("middle", (kLeft + kRight) / 2, panels.back().bottom() + 46, "epoch");
  return format_text("{}</svg>\n", svg);
}

}  // namespace cli
