// The side of `tenon check` that runs plugin code.
#include "worker.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <iterator>
#include <map>
#include <unistd.h>

#include <sys/prctl.h>
#include <sys/resource.h>

#include <tenon/device.hpp>
#include <tenon/listing/listing.hpp>
#include <tenon/parallel.hpp>
#include <tenon/runtime.hpp>
#include <tenon/text.hpp>

#include "against.hpp"
#include "batch_rules.hpp"
#include "child.hpp"
#include "device.hpp"
#include "exit_code.hpp"
#include "format.hpp"
#include "item.hpp"
#include "process_state.hpp"
#include "remove_tree.hpp"
#include "rewrite_rules.hpp"
#include "sandbox.hpp"
#include "seal.hpp"
#include "text.hpp"

namespace cli {

using tenon::Json;

std::vector<CheckTarget> check_targets(const Json& declarations, const std::string& name) {
  std::vector<CheckTarget> all, chosen;
  std::vector<std::string> names;
  for (const auto& [key, kind] : {std::pair{"ops", "op"}, std::pair{"modules", "module"}}) {
    const Json list = declarations[key];
    for (int64_t i = 0; i < list.size(); ++i) {
      all.push_back({kind, list[i]["name"].text(), list[i], "", "", ""});
      names.push_back(all.back().name);
    }
  }
  for (const auto& [key, kind] : {std::pair{"types", "type"}, std::pair{"overrides", "override"}}) {
    const Json list = declarations[key];
    for (int64_t i = 0; i < list.size(); ++i) {
      if (is_rule_of_own_op(declarations, list[i].text())) continue;
      all.push_back({kind, list[i].text(), {}, "", "", ""});
      names.push_back(all.back().name);
    }
  }
  for (DeclaredRewrite& rewrite : declared_rewrites(declarations["path"].text())) {
    all.push_back(
        {"rewrite", rewrite.name, {}, std::move(rewrite.text), std::move(rewrite.samples), ""});
    names.push_back(all.back().name);
  }
  for (DeclaredBatchRule& rule : declared_batch_rules(declarations)) {
    all.push_back({"batch rule", rule.op, {}, "", "", std::move(rule.fault)});
    names.push_back(all.back().name);
  }
  if (name.empty()) return all;
  std::copy_if(all.begin(), all.end(), std::back_inserter(chosen),
               [&](const CheckTarget& target) { return target.name == name; });
  if (chosen.empty()) {
    std::copy_if(
        all.begin(), all.end(), std::back_inserter(chosen),
        [&](const CheckTarget& target) { return target.name.ends_with(format_text(".{}", name)); });
  }
  if (!chosen.empty()) return chosen;
  throw tenon::ValueError(format_text(
      "plugin '{}' declares no op, module, type, override, rewrite or batch rule '{}'{}",
      declarations["id"].text(), name, tenon::suggestion(name, names)));
}

namespace {

class Speaker : public CheckListener {
 public:
  explicit Speaker(const std::function<void(const std::string&)>& say) : say_(say) {}
  void stage(const std::string& name) override { say("stage", "name", name); }
  // By far the most frequent one.
  void trying(const Sample& sample) override {
    say_(format_text(R"({{"at":"trying","sample":{}}})", sample.dump()));
  }
  void note(const std::string& text) override { say("note", "text", text); }
  void skip(const std::string& reason) override { say("skip", "reason", reason); }
  void samples(int64_t count) override {
    say_(tenon::JsonObject().set("at", "samples").set("count", count).json().dump());
  }
  void comparison(const Json& document) override {
    say_(tenon::JsonObject().set("at", "comparison").set("document", document).json().dump());
  }
  void finding(const Finding& finding) override {
    say_(tenon::JsonObject()
             .set("at", "finding")
             .set("kind", finding.kind)
             .set("stage", finding.stage)
             .set("message", finding.message)
             .set("sample", finding.sample)
             .json()
             .dump());
  }
  void item(const char* at, int64_t index) {
    say_(tenon::JsonObject().set("at", at).set("item", index).json().dump());
  }
  void say(const char* at, const char* key, const std::string& text) {
    say_(tenon::JsonObject().set("at", at).set(key, text).json().dump());
  }

 private:
  const std::function<void(const std::string&)>& say_;
};

// Empty folders of this process, the current one and that for temporary files: a new file in them is
// the plugin's.
void enter_folders(const std::string& folder) {
  const std::string current = folder + "/.current", temporary = folder + "/.temporary";
  std::error_code fault;
  for (const std::string& made : {current, temporary}) {
    remove_tree(made, fault);  // left by a process before
    std::filesystem::create_directory(made, fault);
    if (fault) return;
  }
  if (chdir(current.c_str()) != 0 || setenv("TMPDIR", temporary.c_str(), 1) != 0) return;
  ProcessState::watch_files({current, temporary});
}

void limit(int resource, int64_t bytes) {
  const rlimit limits{static_cast<rlim_t>(bytes), static_cast<rlim_t>(bytes)};
  setrlimit(static_cast<__rlimit_resource>(resource), &limits);
}

}  // namespace

namespace {

// Starts the threads that kernels share before anything is compared with the state of now.
void start_threads() {
  constexpr int32_t most = 4;
  const int32_t count = tenon::thread_count();
  tenon::set_thread_count(most);
  tenon::parallel_for(0, 1 << 16, 1, [](int64_t, int64_t) {});
  tenon::set_thread_count(count);
}

// The ops that the plugin declares and other plugins provide, too.
std::vector<std::string> also_provided(const std::string& plugin) {
  std::map<std::string, int> providers;
  const tenon::Json all = tenon::listing::ops();
  for (int64_t i = 0; i < all.size(); ++i) ++providers[all[i]["name"].text()];
  const tenon::Json declared = tenon::listing::declarations(plugin);
  std::vector<std::string> names;
  for (int64_t i = 0; i < declared["ops"].size(); ++i) {
    const std::string name = declared["ops"][i]["name"].text();
    if (providers[name] > 1) names.push_back(name);
  }
  return names;
}

// Another plugin may rank above it elsewhere: here it provides all that it declares.
void prefer_plugin(const std::string& plugin) {
  const std::string id = tenon::listing::declarations(plugin)["id"].text();
  const std::vector<std::string> names = also_provided(plugin);
  tenon::JsonObject prefer;
  for (const std::string& name : names) prefer.set(name, id);
  const tenon::Json ops = tenon::JsonObject().set("prefer", prefer.json()).json();
  tenon::apply_policy(tenon::JsonObject().set("ops", ops).json());
  for (const std::string& name : names) require_provider(name, id);
}

bool open_plugin(const WorkerOptions& options, Speaker& speaker) {
  speaker.stage("open");
  const ProcessState before = ProcessState::now();
  try {
    // A plugin that ends the process is a finding here, each time.
    tenon::apply_policy(tenon::Json::parse(R"({"quarantine": false})"));
    tenon::load_plugin(options.plugin);
    prefer_plugin(options.plugin);
  } catch (const tenon::Error& error) {
    speaker.finding({"open", "open", error.what(), ""});
    return false;
  }
  before.restore([&](const std::string& kind, const std::string& message) {
    speaker.finding({kind, "open", message, ""});
  });
  return true;
}

void find_output(const WorkerOptions& options, const char* stage, Speaker& speaker) {
  const std::string output = options.own_output ? take_output() : "";
  if (!output.empty())
    speaker.finding({"output", stage, format_text("it writes to stdout: {}", output), ""});
}

// Holders of the code of a plugin that was withdrawn: "tensor type, hook".
std::string holders_of(const Json& report) {
  std::vector<std::string> kinds;
  const Json holders = report["holders"];
  for (int64_t i = 0; i < holders.size(); ++i) kinds.push_back(holders.key(i));
  return join(kinds, ", ");
}

// The host loads the next provider of what an unloaded plugin provided: code of others, whose faults are
// not those of this plugin.
void disable_others(const std::string& plugin) {
  const std::string id = tenon::listing::declarations(plugin)["id"].text();
  const std::vector<std::string> names = also_provided(plugin);
  const Json all = tenon::listing::ops();
  for (int64_t i = 0; i < all.size(); ++i) {
    const std::string name = all[i]["name"].text(), provider = all[i]["provider"].text();
    if (provider == id || std::find(names.begin(), names.end(), name) == names.end()) continue;
    const Json entry = tenon::JsonObject().set("op", name).set("plugin", provider).json();
    const Json list = tenon::JsonArray().add(entry).json();
    const Json ops = tenon::JsonObject().set("disable", list).json();
    try {
      tenon::apply_policy(tenon::JsonObject().set("ops", ops).json());
    } catch (const tenon::PluginError&) {  // it is loaded already
    }
  }
}

// Its shutdown runs, and its destructors where the file can be unmapped. That it stays, for its types
// or for what else holds it, is not a fault.
void unload_plugin(const WorkerOptions& options, Speaker& speaker) {
  constexpr int64_t most_ms = 2000;
  speaker.stage("unload");
  disable_others(options.plugin);
  const ProcessState before = ProcessState::now();
  try {
    const Json report = tenon::unload(options.plugin, tenon::Unload::wait, most_ms);
    if (const Json fault = report["fault"]; !fault.is_null())
      speaker.finding({"shutdown", "unload", fault.text(), ""});
    if (report["state"].text() == "draining")
      speaker.note(format_text("it is not unloaded: still held by {}", holders_of(report)));
  } catch (const tenon::PluginError& error) {  // other plugins need it
    speaker.note(format_text("it is not unloaded: {}", error.what()));
  }
  before.restore([&](const std::string& kind, const std::string& message) {
    speaker.finding({kind, "unload", message, ""});
  });
  find_output(options, "unload", speaker);
}

}  // namespace

namespace {

void check_declared_module(const Json& declaration, const std::string& samples,
                           const CheckSettings& settings, CheckListener& listener) {
  CheckedModule module = checked_module(declaration);
  module.of_file = !samples.empty();
  if (module.of_file) module.samples = samples;
  check_module(module, settings, listener);
}

// In facts, or as a function, which is an override for batched tensors.
bool is_batch_rule(const CheckTarget& target) {
  return target.kind == "batch rule" ||
         (target.kind == "override" &&
          (target.name.ends_with("[Batched]") || target.name.ends_with("[BatchedOperand]")));
}

void compare_here(const WorkerOptions& options, Speaker& speaker) {
  const Json declarations = tenon::listing::declarations(options.plugin);
  const std::vector<SharedOp> shared = shared_ops(declarations, options.item, options.against);
  // Each op has one provider, also those that are not looked at.
  if (!open_providers(options, shared_ops(declarations, "", options.against), speaker)) return;
  const CheckSettings settings{options.seed, options.options, options.folder};
  for (auto i = static_cast<size_t>(options.first); i < shared.size(); ++i) {
    const auto index = static_cast<int64_t>(i);
    speaker.item("begin", index);
    if (options.record)
      record_calls(shared[i], settings, speaker);
    else
      compare_calls(shared[i], declarations["id"].text(), settings, speaker);
    speaker.item("done", index);
  }
}

// The ops of other plugins on the device of this one.
void check_device_here(const WorkerOptions& options, const std::string& device, Speaker& speaker) {
  speaker.stage("open");
  try {
    tenon::apply_policy(Json::parse(R"({"quarantine": false})"));
    tenon::load_plugin(options.plugin);
    for (const std::string& provider : options.against) tenon::load_plugin(provider);
    tenon::device::synchronize(tenon::device::Device(device));
  } catch (const tenon::Error& error) {
    speaker.finding({"open", "open", error.what(), ""});
    return;
  }
  const std::string id = tenon::listing::declarations(options.plugin)["id"].text();
  const std::vector<CheckTarget> targets = device_targets(options.against, options.item);
  const CheckSettings settings{options.seed, options.options, options.folder};
  for (auto i = static_cast<size_t>(options.first); i < targets.size(); ++i) {
    const auto index = static_cast<int64_t>(i);
    speaker.item("begin", index);
    check_on_device(checked_op(targets[i].declaration), device, id, settings, speaker);
    speaker.item("done", index);
  }
}

}  // namespace

void check_targets_here(const WorkerOptions& options,
                        const std::function<void(const std::string&)>& say) {
  Speaker speaker(say);
  start_threads();
  if (!options.against.empty()) {
    const std::string device = device_of(tenon::listing::declarations(options.plugin));
    if (device.empty())
      compare_here(options, speaker);
    else
      check_device_here(options, device, speaker);
    say(R"({"at":"end"})");
    return;
  }
  if (!open_plugin(options, speaker)) {
    say(R"({"at":"end"})");
    return;
  }
  find_output(options, "open", speaker);
  const Json declarations = tenon::listing::declarations(options.plugin);
  const std::vector<CheckTarget> targets = check_targets(declarations, options.item);
  const CheckSettings settings{options.seed, options.options, options.folder};
  for (auto i = static_cast<size_t>(options.first); i < targets.size(); ++i) {
    const auto index = static_cast<int64_t>(i);
    speaker.item("begin", index);
    const CheckTarget& target = targets[i];
    if (target.kind == "op")
      check_op(checked_op(target.declaration), settings, speaker);
    else if (target.kind == "module")
      check_declared_module(target.declaration, options.samples, settings, speaker);
    else if (target.kind == "type")
      check_type(target.name, settings, speaker);
    else if (is_batch_rule(target))
      check_batch_rule(target.name, target.fault, settings, speaker);
    else if (target.kind == "override")
      check_override(target.name, settings, speaker);
    else
      check_rewrite({target.name, declarations["id"].text(), target.rule, target.samples}, settings,
                    speaker);
    find_output(options, "call", speaker);
    if (const std::string mode = restore_kernel_threads(); !mode.empty())
      speaker.finding({"floating-point-mode", "call", mode, ""});
    speaker.item("done", index);
  }
  unload_plugin(options, speaker);
  say(R"({"at":"end"})");
}

int run_check_worker(const WorkerOptions& given) {
  const bool isolated = enter_sandbox(kStatus);
  Secret secret;
  if (read(STDIN_FILENO, &secret, sizeof secret) != sizeof secret) return kFault;
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0) return kFault;
  close(nothing);
  limit(RLIMIT_CORE, 0);
  // Processes that a plugin leaves running become children of this process, however many forks are
  // between.
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  WorkerOptions options = given;
  options.own_output = true;
  if (!options.folder.empty()) enter_folders(options.folder);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  // Sanitizers reserve address space by the terabyte.
  if (options.memory > 0) limit(RLIMIT_AS, options.memory << 20);
#endif
  Seal seal(secret);
  const pid_t self = getpid();
  const auto say = [&seal, self](const std::string& line) {
    if (getpid() != self) _exit(kFault);  // a copy, by a fork of the plugin that returns twice
    const std::string text = seal.sealed(line);
    for (size_t sent = 0; sent < text.size();) {
      const ssize_t count = write(kAnswers, text.data() + sent, text.size() - sent);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) _exit(kFault);  // the reader is gone
      sent += static_cast<size_t>(count);
    }
  };
  say(format_text(R"({{"at":"isolated","yes":{}}})", isolated));
  check_targets_here(options, say);
  return secret.exit_code;
}

}  // namespace cli
