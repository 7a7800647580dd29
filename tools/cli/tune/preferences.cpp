// Deciding, and writing it down as JSON.
#include "preferences.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "text.hpp"

namespace cli {

namespace {

using tenon::Json;

std::string text_of(const OperandClasses& classes) {
  std::vector<std::string> texts;
  texts.reserve(classes.size());
  for (const auto& [parameter, text] : classes)
    texts.emplace_back(parameter).append(" ").append(text);
  return join(texts, ", ");
}

// Which provider runs a call when it is asked first.
std::string asked_first(const MeasuredCall& call, const std::string& provider) {
  return call.seconds.count(provider) != 0 ? provider : call.usual;
}

CallClass class_of(const std::vector<const MeasuredCall*>& calls, double least_gain) {
  CallClass made;
  made.op = calls.front()->call->op;
  made.classes = calls.front()->call->classes;
  std::set<std::string> usual, providers;
  for (const MeasuredCall* call : calls) {
    made.calls += call->call->count;
    usual.insert(call->usual);
    for (const auto& [provider, seconds] : call->seconds) providers.insert(provider);
    made.declined.insert(call->declined.begin(), call->declined.end());
  }
  made.usual = join(std::vector<std::string>(usual.begin(), usual.end()), " or ");
  const auto total = [&](auto&& chosen) {
    double seconds = 0;
    for (const MeasuredCall* call : calls) {
      const auto found = call->seconds.find(chosen(*call));
      if (found != call->seconds.end())
        seconds += static_cast<double>(call->call->count) * found->second;
    }
    return seconds;
  };
  made.usual_seconds = total([](const MeasuredCall& call) { return call.usual; });
  made.winner = made.usual;
  double best = made.usual_seconds;
  for (const std::string& provider : providers) {
    made.declined.erase(provider);
    const double seconds =
        total([&](const MeasuredCall& call) { return asked_first(call, provider); });
    made.seconds[provider] = seconds;
    if (seconds >= best) continue;
    best = seconds;
    made.winner = provider;
  }
  made.gain = made.usual_seconds > 0 ? 1 - best / made.usual_seconds : 0;
  made.has_preference = made.winner != made.usual && made.gain > 0 && made.gain >= least_gain;
  return made;
}

Json preference_of(const CallClass& one) {
  return tenon::JsonObject().set("plugin", one.winner).set("when", when_of(one.classes)).json();
}

// On one line, with spaces, as people write it.
std::string spaced(const Json& preference) {
  const auto quoted = [](const std::string& text) {
    return tenon::JsonArray().add(text).json()[0].dump();
  };
  std::vector<std::string> members;
  const Json when = preference["when"];
  for (int64_t i = 0; i < when.size(); ++i)
    members.push_back(quoted(when.key(i)) + ": " + when[i].dump());
  return "{\"plugin\": " + preference["plugin"].dump() + ", \"when\": {" + join(members, ", ") +
         "}}";
}

// Whatever the order of the members.
std::map<std::string, std::string> conditions(const Json& when) {
  std::map<std::string, std::string> members;
  for (int64_t i = 0; i < when.size(); ++i) members.emplace(when.key(i), when[i].text());
  return members;
}

std::vector<std::string> entries_of(const Json& preference) {
  std::vector<std::string> texts;
  if (preference.is_text()) texts.push_back(preference.dump());
  for (int64_t i = 0; preference.is_container() && i < preference.size(); ++i)
    texts.push_back(preference[i]["when"].defined() ? spaced(preference[i])
                                                    : preference[i]["plugin"].dump());
  return texts;
}

}  // namespace

Json when_of(const OperandClasses& classes) {
  tenon::JsonObject when;
  for (const auto& [parameter, text] : classes) when.set(parameter, text);
  return when.json();
}

std::vector<CallClass> classify(const std::vector<MeasuredCall>& calls, double least_gain) {
  std::map<std::pair<std::string, std::string>, std::vector<const MeasuredCall*>> groups;
  for (const MeasuredCall& call : calls)
    groups[{call.call->op, text_of(call.call->classes)}].push_back(&call);
  std::vector<CallClass> classes;
  classes.reserve(groups.size());
  for (const auto& [key, members] : groups) classes.push_back(class_of(members, least_gain));
  return classes;
}

std::vector<NewPreference> changed_preferences(const Json& config,
                                               const std::vector<CallClass>& classes) {
  std::map<std::string, std::vector<const CallClass*>> by_op;
  for (const CallClass& one : classes) by_op[one.op].push_back(&one);
  std::vector<NewPreference> changes;
  for (const auto& [op, measured] : by_op) {
    const Json present = config["ops"]["prefer"][op];
    std::vector<std::string> entries;
    std::set<std::map<std::string, std::string>> known;
    for (const CallClass* one : measured) {
      known.insert(conditions(when_of(one->classes)));
      if (one->has_preference) entries.push_back(spaced(preference_of(*one)));
    }
    if (present.is_text()) {
      if (entries.empty()) continue;
      entries.push_back(present.dump());
    }
    for (int64_t i = 0; present.is_container() && i < present.size(); ++i) {
      const Json when = present[i]["when"];
      if (!when.defined())
        entries.push_back(present[i]["plugin"].dump());
      else if (known.count(conditions(when)) == 0)
        entries.push_back(spaced(present[i]));
    }
    if (entries != entries_of(present)) changes.emplace_back(op, std::move(entries));
  }
  return changes;
}

Json without_rules(const Json& config) {
  const Json prefer = config["ops"]["prefer"];
  tenon::JsonObject kept, ops, rest;
  for (int64_t i = 0; i < prefer.size(); ++i) {
    if (prefer[i].is_text()) kept.set(prefer.key(i), prefer[i]);
    for (int64_t k = 0; prefer[i].is_container() && k < prefer[i].size(); ++k) {
      if (prefer[i][k]["when"].defined()) continue;
      kept.set(prefer.key(i), prefer[i][k]["plugin"]);
      break;
    }
  }
  for (int64_t i = 0; i < config["ops"].size(); ++i) {
    if (config["ops"].key(i) != "prefer") ops.set(config["ops"].key(i), config["ops"][i]);
  }
  ops.set("prefer", kept.json());
  for (int64_t i = 0; i < config.size(); ++i) {
    if (config.key(i) != "ops") rest.set(config.key(i), config[i]);
  }
  return rest.set("ops", ops.json()).json();
}

}  // namespace cli
