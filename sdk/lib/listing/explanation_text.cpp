// An explanation as lines of text.
#include <tenon/listing/why.hpp>

TENON_NAMESPACE_BEGIN

namespace listing {

namespace {

std::string listed(const Json& list, const char* none) {
  std::string text;
  for (int64_t i = 0; i < list.size(); ++i) text += (i == 0 ? "" : ", ") + list[i].text();
  return text.empty() ? none : text;
}

// The lines of an explanation: a label, then what there is to say.
class ExplanationText {
 public:
  explicit ExplanationText(const Json& why) : why_(why) {}

  std::string text() {
    if (!why_["error"].is_null())
      refused();
    else
      answered();
    return text_;
  }

 private:
  void line(const std::string& label, const std::string& content) {
    if (content.empty()) return;
    text_ +=
        "  " + label + std::string(label.size() < 11 ? 11 - label.size() : 1, ' ') + content + "\n";
  }
  static std::string by_plugin(const Json& item) {
    const std::string provider = item["provider"].text(), version = item["version"].text();
    if (provider.empty()) return "";
    return ", plugin " + provider + (version.empty() ? "" : " " + version);
  }
  // "outranked: plugin 'a' is preferred", or the reason alone where it says as much.
  static std::string because(const Json& item, const char* key) {
    const std::string whole = item["reason"].text();
    std::string state = item[key].text();
    const std::string reason = whole.substr(0, whole.find('\n'));
    if (reason.empty()) return state;
    return reason.rfind(state, 0) == 0 ? reason : state + ": " + reason;
  }
  std::string arguments(bool defaults) const {
    std::string text;
    const Json list = why_["arguments"];
    for (int64_t i = 0; i < list.size(); ++i) {
      const Json item = list[i];
      const std::string given = item["given"].text(), name = item["name"].text();
      if ((given == "default") != defaults) continue;
      text += text.empty() ? "" : ", ";
      text += name + (name.empty() ? "" : defaults ? "=" : ": ") + item["value"].text();
      if (!item["converted"].is_null()) text += " (" + item["converted"].text() + ")";
      if (given == "assumed") text += " (any)";
    }
    return text;
  }

  void answered() {
    text_ = why_["op"].text() + why_["signature"].text() + "\n";
    line("arguments", arguments(false));
    line("defaults", arguments(true));
    line("types", listed(why_["types"], "none"));
    line("modes", listed(why_["modes"], "none"));
    line("below", listed(why_["modes_below"], ""));
    const Json steps = why_["steps"];
    bool passed = false;  // operands of other types, which are not asked here
    for (int64_t i = 0; i < steps.size(); ++i) passed = passed || !steps[i]["type"].is_null();
    line("asked", listed(why_["order"], passed ? "none" : "none: all operands are plain"));
    for (int64_t i = 0; i < steps.size(); ++i) {
      line(i == 0 ? "steps" : "", std::to_string(i + 1) + ". " + step(steps[i]));
    }
    const Json outranked = why_["outranked"];
    for (int64_t i = 0; i < outranked.size(); ++i) {
      line(i == 0 ? "not used" : "", outranked[i]["what"].text() + ", plugin " +
                                         outranked[i]["plugin"].text() + ": " +
                                         because(outranked[i], "standing"));
    }
    if (!why_["ranked"].is_null())
      line("ranked", "plugin " + why_["provider"].text() + ", " + why_["ranked"].text());
    put_declined();
    line("runs", why_["answer"]["what"].text() + by_plugin(why_["answer"]));
    if (!why_["then"].is_null())
      line("then", why_["then"]["what"].text() + by_plugin(why_["then"]));
    if (why_["next"].size() > 0) line("next", listed(why_["next"], "") + ", where that declines");
    const Json kernel = why_["kernel"];
    if (!kernel["compute"].is_null()) {
      line("kernel", "computes in " + kernel["compute"].text() + ", gives " +
                         kernel["result"].text() + ", on " + kernel["device"].text() + ", " +
                         kernel["isa"].text() + " loops");
    }
    line("gradient", why_["gradient"].text());
    const Json ways = why_["batching"];
    for (int64_t i = 0; i < ways.size(); ++i)
      line(i == 0 ? "vmap" : "", (i == 0 ? "" : "else ") + way(ways[i]));
  }
  static std::string way(const Json& item) {
    const std::string how = item["how"].text(), rule = item["rule"].text();
    const std::string plugin =
        item["provider"].is_null() ? "" : ", plugin " + item["provider"].text();
    if (!rule.empty()) return "rule '" + rule + "'" + plugin;
    if (how == "function") return "batch rule as a function" + plugin;
    if (how == "ops") return "through the ops that it calls";
    if (how == "elementwise") return "as a loop over elements, the batch in front";
    return "in a loop over samples: no plugin has a batch rule for it";
  }
  void put_declined() {
    const Json declined = why_["declined"];
    for (int64_t i = 0; i < declined.size(); ++i) {
      line(i == 0 ? "declined" : "",
           "plugin " + declined[i]["plugin"].text() + ": " + declined[i]["reason"].text());
    }
  }
  static std::string step(const Json& item) {
    const std::string type = item["type"].text(), reason = item["reason"].text();
    const std::string what =
        reason.empty() ? item["what"].text() + by_plugin(item) : "passed over: " + reason;
    return (type.empty() ? "" : type + ": ") + what;
  }

  // Six lines at most.
  void refused() {
    text_ = why_["op"].text() + "(" + arguments(false) + ")\n";
    line("fails", why_["kind"].text() + ": " + why_["error"].text());
    std::string passed;
    for (int64_t i = 0; i < why_["steps"].size(); ++i) {
      const Json item = why_["steps"][i];
      const std::string reason = item["reason"].text();
      if (!reason.empty())
        passed += (passed.empty() ? "" : "; ") + item["type"].text() + ": " + reason;
    }
    line("passed", passed);
    line("nearest", listed(why_["nearest"], ""));
    std::string plugins;
    for (int64_t i = 0; i < why_["plugins"].size(); ++i) {
      const Json item = why_["plugins"][i];
      plugins += (plugins.empty() ? "" : "; ") + item["plugin"].text() + " declares " +
                 item["override"].text() + " (" + because(item, "state") + ")";
    }
    line("plugins", plugins);
    line("try", why_["suggestion"].text());
  }

  const Json& why_;
  std::string text_;
};

}  // namespace

std::string explain_text(const Json& explanation) { return ExplanationText(explanation).text(); }

}  // namespace listing

TENON_NAMESPACE_END
