// Coverage of formats: operators of a complete list, and the plugins that convert them.
#include "conversions.hpp"

#include <charconv>
#include <map>
#include <vector>

#include <tenon/listing/listing.hpp>
#include <tenon/text.hpp>

#include "lib/base/format.hpp"
#include "lib/base/text.hpp"

TENON_NAMESPACE_BEGIN

namespace listing {

namespace {

constexpr std::string_view kComplete = "complete.";

// "Upsample:7,9,10-": an operator and the versions that define it again; the last one removes it.
// "StringSplit:20 # tensors hold no text": with a reason why it is not converted.
struct Operator {
  std::string name, maker;     // the maker: what converts it without a rule
  std::string plugin, reason;  // the plugin that declares the list
  std::vector<int64_t> versions;
  bool removed = false;  // by the last version

  // The version that is valid in one of the format; 0: there is none.
  int64_t at(int64_t version) const {
    int64_t valid = 0;
    for (const int64_t one : versions) {
      if (one <= version) valid = one;
    }
    return removed && valid == versions.back() ? 0 : valid;
  }
};

// A rule for an operator.
struct Conversion {
  int64_t since;
  std::string plugin, op;
  std::string like;  // the engine whose answers it gives; empty: the standard's
};

// "acme" of "Swish:1(X; like=='acme') = ...".
std::string engine_of(std::string_view rule) {
  constexpr std::string_view key = "like=='";
  const std::string_view left = rule.substr(0, rule.find(')'));
  for (size_t at = left.find(key); at != std::string_view::npos; at = left.find(key, at + 1)) {
    if (at == 0 || std::string_view("; ,(").find(left[at - 1]) == std::string_view::npos) continue;
    const std::string_view name = left.substr(at + key.size());
    return std::string(name.substr(0, name.find('\'')));
  }
  return "";
}

bool take_number(std::string_view& text, int64_t& number) {
  const auto [stop, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(static_cast<size_t>(stop - text.data()));
  return fault == std::errc();
}

Operator read_operator(const std::string& plugin, std::string_view line) {
  Operator one;
  const std::string_view whole = line;
  if (const size_t sign = line.find('#'); sign != std::string_view::npos) {
    one.reason = tenon::detail::trim(line.substr(sign + 1));
    line = line.substr(0, sign);
  }
  const size_t colon = std::min(line.find(':'), line.size());
  one.name = tenon::detail::trim(line.substr(0, colon));
  one.plugin = plugin;
  std::string_view rest = line.substr(std::min(colon + 1, line.size()));
  if (const size_t sign = rest.find('='); sign != std::string_view::npos) {
    one.maker = tenon::detail::trim(rest.substr(sign + 1));
    rest = rest.substr(0, sign);
  }
  rest = tenon::detail::trim(rest);
  bool sound = !one.name.empty();
  for (bool more = sound; more;) {
    int64_t version = 0;
    sound = sound && take_number(rest, version) &&
            (one.versions.empty() || version > one.versions.back());
    one.versions.push_back(version);
    more = sound && rest.substr(0, 1) == ",";
    if (more) rest.remove_prefix(1);
  }
  one.removed = rest == "-";
  if (sound && (rest.empty() || one.removed)) return one;
  throw ValueError(lib::format_text(
      "plugin {}: cannot read the line {} of a complete list; write it like 'Upsample:7,9,10-'",
      lib::quote(plugin), lib::quote(std::string(whole))));
}

// The complete list of a format and the rules for it.
class Format {
 public:
  explicit Format(const std::string& name) {
    std::vector<std::string> known;
    for_each_conversion_rule(
        Inventory().plugins(),
        [&](const std::string& format, const std::string& plugin, std::string_view rule) {
          if (format == name) {
            add_rule(plugin, rule);
          } else if (format.compare(0, kComplete.size(), kComplete) == 0) {
            const std::string listed = format.substr(kComplete.size());
            if (listed == name)
              operators_.push_back(read_operator(plugin, rule));
            else if (known.empty() || known.back() != listed)
              known.push_back(listed);
          }
        });
    if (operators_.empty())
      throw ValueError(lib::format_text(
          "no plugin declares a complete list of operators of {}{}{}", lib::quote(name),
          suggestion(name, known),
          known.empty() ? "" : lib::format_text("; there are lists of {}", join(known, ", "))));
    std::sort(operators_.begin(), operators_.end(),
              [](const Operator& a, const Operator& b) { return a.name < b.name; });
  }

  int64_t newest() const {
    int64_t newest = 0;
    for (const Operator& one : operators_) newest = std::max(newest, one.versions.back());
    return newest;
  }
  const std::vector<Operator>& operators() const { return operators_; }

  // The rules that are valid for a version: the newest of each plugin, then those for other engines.
  std::vector<Conversion> conversions(const Operator& one, int64_t version) const {
    std::vector<Conversion> valid;
    if (!one.maker.empty()) valid.push_back({one.versions.front(), one.plugin, one.maker, ""});
    const auto found = rules_.find(one.name);
    if (found == rules_.end()) return valid;
    using Source = std::pair<std::string, std::string>;  // plugin, engine
    std::map<Source, int64_t> newest;
    for (const Conversion& rule : found->second) {
      int64_t& since = newest[{rule.plugin, rule.like}];
      if (rule.since <= version) since = std::max(since, rule.since);
    }
    for (const Conversion& rule : found->second) {
      if (newest[{rule.plugin, rule.like}] != rule.since) continue;
      const bool known = std::any_of(valid.begin(), valid.end(), [&](const Conversion& other) {
        return other.plugin == rule.plugin && other.op == rule.op && other.like == rule.like;
      });
      if (!known) valid.push_back(rule);  // several rules may be for values of an attribute
    }
    std::stable_partition(valid.begin(), valid.end(),
                          [](const Conversion& rule) { return rule.like.empty(); });
    return valid;
  }

 private:
  void add_rule(const std::string& plugin, std::string_view rule) {
    const size_t colon = rule.find(':');
    if (colon == std::string_view::npos) return;
    std::string_view since = rule.substr(colon + 1);
    int64_t version = 0;
    if (take_number(since, version))
      rules_[std::string(tenon::detail::trim(rule.substr(0, colon)))].push_back(
          {version, plugin, called_op(rule), engine_of(rule)});
  }

  std::vector<Operator> operators_;
  std::map<std::string, std::vector<Conversion>> rules_;
};

}  // namespace

Json format_coverage(const std::string& name, int64_t version) {
  const Format format(name);
  const int64_t newest = format.newest();
  if (version == 0) version = newest;
  if (version < 1 || version > newest)
    throw ValueError(lib::format_text("{} is not a version of {}: its complete list has 1 to {}",
                                      version, lib::quote(name), newest));
  Writer listing;
  int64_t converted = 0, missing = 0;
  listing.begin_object().set("format", name).set("version", version).begin_array("ops");
  for (const Operator& one : format.operators()) {
    const int64_t valid = one.at(version);
    if (valid == 0) continue;
    const std::vector<Conversion> conversions = format.conversions(one, version);
    const bool has_rule = !conversions.empty() && conversions.front().like.empty();
    ++(has_rule ? converted : missing);
    listing.begin_object()
        .set("name", one.name)
        .set("how", has_rule ? "converted" : "missing")
        .set("version", valid);
    if (!has_rule && !one.reason.empty()) listing.set("reason", one.reason);
    listing.begin_array("conversions");
    for (const Conversion& rule : conversions) {
      listing.begin_object()
          .set("plugin", rule.plugin)
          .set("calls", rule.op)
          .set("since", rule.since);
      if (!rule.like.empty()) listing.set("like", rule.like);
      listing.end();
    }
    listing.end().end();
  }
  listing.end().begin_object("counts").set("converted", converted).set("missing", missing);
  return listing.end().end().json();
}

}  // namespace listing

TENON_NAMESPACE_END
