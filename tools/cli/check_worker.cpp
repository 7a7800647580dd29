// The side of `tenon check` that runs plugin code.
#include "check_worker.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <unistd.h>

#include <sys/prctl.h>
#include <sys/resource.h>

#include <tenon/runtime.hpp>
#include <tenon/text.hpp>

#include "check_item.hpp"
#include "commands.hpp"
#include "format.hpp"

namespace cli {

using tenon::Json;

std::vector<CheckTarget> check_targets(const Json& declarations, const std::string& name) {
  std::vector<CheckTarget> all, chosen;
  std::vector<std::string> names;
  for (const auto& [key, kind] : {std::pair{"ops", "op"}, std::pair{"modules", "module"}}) {
    const Json list = declarations[key];
    for (int64_t i = 0; i < list.size(); ++i) {
      all.push_back({kind, list[i]["name"].text(), list[i]});
      names.push_back(all.back().name);
    }
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
  throw tenon::ValueError(format_text("plugin '{}' declares no op or module '{}'{}",
                                      declarations["id"].text(), name,
                                      tenon::suggestion(name, names)));
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

void limit(int resource, int64_t bytes) {
  const rlimit limits{static_cast<rlim_t>(bytes), static_cast<rlim_t>(bytes)};
  setrlimit(static_cast<__rlimit_resource>(resource), &limits);
}

}  // namespace

void check_targets_here(const WorkerOptions& options,
                        const std::function<void(const std::string&)>& say) {
  Speaker speaker(say);
  speaker.stage("open");
  try {
    // What ends the process is a finding here, each time.
    tenon::apply_config(tenon::Json::parse(R"({"quarantine": false})"));
    tenon::load_plugin(options.plugin);
  } catch (const tenon::Error& error) {
    speaker.finding({"open", "open", error.what(), ""});
    say(R"({"at":"end"})");
    return;
  }
  const std::vector<CheckTarget> targets =
      check_targets(tenon::describe("declarations", options.plugin), options.item);
  for (size_t i = static_cast<size_t>(options.first); i < targets.size(); ++i) {
    const auto index = static_cast<int64_t>(i);
    speaker.item("begin", index);
    if (targets[i].kind == "op")
      check_op(checked_op(targets[i].declaration), {options.seed, options.options}, speaker);
    else
      check_module(checked_module(targets[i].declaration), options.seed, options.folder, speaker);
    speaker.item("done", index);
  }
  say(R"({"at":"end"})");
}

int run_check_worker(const WorkerOptions& options) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  limit(RLIMIT_CORE, 0);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  // Sanitizers reserve address space by the terabyte.
  if (options.memory > 0) limit(RLIMIT_AS, options.memory << 20);
#endif
  const int channel = static_cast<int>(options.channel);
  check_targets_here(options, [channel](const std::string& line) {
    const std::string text = format_text("{}\n", line);
    for (size_t sent = 0; sent < text.size();) {
      const ssize_t count = write(channel, text.data() + sent, text.size() - sent);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) _exit(kFault);  // the reader is gone
      sent += static_cast<size_t>(count);
    }
  });
  return kFine;
}

}  // namespace cli
