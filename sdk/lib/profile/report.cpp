// Sums of profiles, and their document.
#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include <tenon/profile/profile.hpp>

#include "lib/base/format.hpp"

TENON_NAMESPACE_BEGIN

namespace profile {

namespace {

std::string module_text(const Profile& profile, const CallRow& call) {
  if (call.module < 0)
    return call.backward ? "(backward)" : call.optimizer ? "(optimizer)" : "(outside of modules)";
  const ModuleRow& module = profile.modules[static_cast<size_t>(call.module)];
  return lib::format_text("{}{}({}){}", module.name, module.name.empty() ? "" : " ", module.type,
                          call.backward ? ", backward" : "");
}

double seconds(int64_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-9; }

double part_of_limit(const Entry& entry, const Limits& limits) {
  const double time = seconds(entry.nanoseconds);
  if (time <= 0) return -1;
  double part = -1;
  if (limits.multiply_adds > 0 && entry.multiply_adds > 0)
    part = static_cast<double>(entry.multiply_adds) / time / limits.multiply_adds;
  if (limits.bytes > 0 && entry.bytes > 0)
    part = std::max(part, static_cast<double>(entry.bytes) / time / limits.bytes);
  return part;
}

// Sums of the rows that have one key.
template <class Key>
std::vector<Entry> sums(const Profile& profile, const Key& key_of) {
  const int64_t all = std::max<int64_t>(profile.call_nanoseconds(), 1);
  std::map<std::pair<std::string, std::string>, Entry> entries;
  for (const CallRow& call : profile.calls) {
    std::pair<std::string, std::string> key = key_of(call);
    Entry& entry = entries[key];
    std::tie(entry.name, entry.provider) = std::move(key);
    entry.calls += call.calls;
    entry.nanoseconds += call.nanoseconds;
    entry.bytes += call.bytes;
    if (call.multiply_adds >= 0)
      entry.multiply_adds = std::max<int64_t>(entry.multiply_adds, 0) + call.multiply_adds;
  }
  std::vector<Entry> sorted;
  for (auto& [key, entry] : entries) {
    entry.share = static_cast<double>(entry.nanoseconds) / static_cast<double>(all);
    entry.of_limit = part_of_limit(entry, profile.limits);
    sorted.push_back(std::move(entry));
  }
  std::stable_sort(sorted.begin(), sorted.end(), [](const Entry& one, const Entry& other) {
    return one.nanoseconds > other.nanoseconds;
  });
  return sorted;
}

Json entries_json(const std::vector<Entry>& entries, const char* name) {
  JsonArray list;
  for (const Entry& entry : entries) {
    JsonObject object;
    object.set(name, entry.name);
    if (std::string_view(name) == "op")
      object.set("provider", entry.provider.empty() ? JsonValue() : JsonValue(entry.provider));
    object.set("calls", entry.calls)
        .set("seconds", seconds(entry.nanoseconds))
        .set("share", entry.share)
        .set("of_limit", entry.of_limit < 0 ? JsonValue() : JsonValue(entry.of_limit))
        .set("bytes", entry.bytes)
        .set("multiply_adds",
             entry.multiply_adds < 0 ? JsonValue() : JsonValue(entry.multiply_adds));
    list.add(object.json());
  }
  return list.json();
}

}  // namespace

int64_t Profile::call_nanoseconds() const {
  int64_t sum = 0;
  for (const CallRow& call : calls) sum += call.nanoseconds;
  return sum;
}

std::vector<Entry> by_op(const Profile& profile) {
  return sums(profile, [](const CallRow& call) { return std::pair(call.op, call.provider); });
}
std::vector<Entry> by_provider(const Profile& profile) {
  return sums(profile, [](const CallRow& call) { return std::pair(call.provider, std::string()); });
}
std::vector<Entry> by_module(const Profile& profile) {
  return sums(profile, [&](const CallRow& call) {
    return std::pair(module_text(profile, call), std::string());
  });
}

Json document(const Profile& profile) {
  return JsonObject()
      .set("seconds", seconds(profile.nanoseconds))
      .set("seconds_in_calls", seconds(profile.call_nanoseconds()))
      .set("limits", profile.limits.bytes <= 0
                         ? JsonValue()
                         : JsonValue(JsonObject()
                                         .set("multiply_adds", profile.limits.multiply_adds)
                                         .set("bytes", profile.limits.bytes)
                                         .json()))
      .set("ops", entries_json(by_op(profile), "op"))
      .set("providers", entries_json(by_provider(profile), "provider"))
      .set("modules", entries_json(by_module(profile), "module"))
      .json();
}

}  // namespace profile

TENON_NAMESPACE_END
