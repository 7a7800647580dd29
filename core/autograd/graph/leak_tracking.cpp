// The set of live nodes, kept while tracking is on.
#include "core/autograd/graph/leak_tracking.hpp"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <unordered_set>

#include "core/autograd/engine/anomaly.hpp"
#include "core/autograd/graph/op_node.hpp"
#include "core/base/environment.hpp"
#include "core/base/fork.hpp"
#include "core/base/format.hpp"

namespace tenon::core {

constinit std::atomic<bool> live_tracked{false};

namespace {

struct Living {
  // Recursive: a report that outlives a release elsewhere frees what was saved, and nodes with it.
  std::recursive_mutex mutex;
  const HeldAcrossFork held{mutex};
  std::unordered_set<OpNode*> nodes;
};
Living& living() {
  static auto* const set = new Living;  // nodes with static storage die late
  return *set;
}

void print_at_exit() {
  const std::string text = dump(*describe_live(), 2);
  std::fprintf(stderr, "tenon: alive at exit: %s\n", text.c_str());
}

const bool asked_at_start = [] {
  if (environment("TENON_LIVE") == nullptr) return false;
  std::atexit(print_at_exit);
  live_tracked.store(true);
  return true;
}();

}  // namespace

bool track_live(bool enabled) { return live_tracked.exchange(enabled); }

void note_birth(OpNode& node) {
  Living& all = living();
  const std::lock_guard lock(all.mutex);
  all.nodes.insert(&node);
}

void note_death(OpNode& node) noexcept {
  Living& all = living();
  const std::lock_guard lock(all.mutex);
  all.nodes.erase(&node);
}

Json describe_live() {
  struct Provider {
    size_t nodes = 0;
    uint32_t saved_tensors = 0;
    int64_t saved_bytes = 0;
    std::map<std::string_view, size_t> ops;
  };
  std::map<std::string_view, Provider> providers;
  {
    Living& all = living();
    const std::lock_guard lock(all.mutex);
    for (OpNode* node : all.nodes) {
      const NodeReport report = node->report();
      Provider& provider = providers[node->implementation()->provider];
      ++provider.nodes;
      provider.saved_tensors += report.saved_tensors;
      provider.saved_bytes += report.saved_bytes;
      ++provider.ops[node->implementation()->schema.name];
    }
  }
  JsonBuilder document;
  document.begin_array();
  for (const auto& [name, provider] : providers) {
    document.begin_object()
        .member("provider", name)
        .member("nodes", provider.nodes)
        .member("saved_tensors", provider.saved_tensors)
        .member("saved_bytes", provider.saved_bytes)
        .key("ops")
        .begin_array();
    for (const auto& [op, nodes] : provider.ops)
      document.begin_object().member("op", op).member("nodes", nodes).end_object();
    document.end_array().end_object();
  }
  document.end_array();
  return document.finish();
}

std::vector<std::string> recorded_by(const PluginCode& code) {
  constexpr size_t kMost = 8;
  Living& all = living();
  const std::lock_guard lock(all.mutex);
  std::vector<std::string> places;
  size_t count = 0;
  for (const OpNode* node : all.nodes) {
    const Implementation& implementation = *node->implementation();
    if (implementation.code != &code && implementation.rules_code != &code) continue;
    if (++count <= kMost) places.push_back(origin_text(*node));
  }
  if (count > kMost) places.push_back(format_text("{} more calls", count - kMost));
  return places;
}

}  // namespace tenon::core
