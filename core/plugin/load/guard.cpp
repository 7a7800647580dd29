// Calls of a guard's functions, none of which is believed to behave.
#include "core/plugin/load/guard.hpp"

#include <exception>
#include <memory>
#include <type_traits>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/growable.hpp"
#include "core/base/text.hpp"
#include "core/plugin/resolve/plugin_documents.hpp"

namespace tenon::core {

namespace {

constexpr const char* kRemedy = "correct the load guard of this program, or remove it";
constexpr uint32_t kKnownWants = TENON_GUARD_WANTS_BYTES | TENON_GUARD_WANTS_FACTS;

tenon_string string_of(const std::string& text) {
  return {text.data(), static_cast<int64_t>(text.size())};
}
std::string text_of(const tenon_string& text) {
  if (text.data == nullptr || text.length <= 0) return {};
  return {text.data, static_cast<size_t>(text.length)};
}

tenon_file_stamp stamp_of(const FileStamp& stamp) {
  return {stamp.device, stamp.inode, stamp.size, stamp.modified, stamp.changed};
}

PluginFailure failure_of(const tenon_refusal& given) {
  const tenon_refusal why = copy_growable(given);
  PluginFailure failure;
  if (why.stage >= TENON_STAGE_FIND && why.stage <= TENON_STAGE_REGISTER)
    failure.stage = static_cast<PluginStage>(why.stage);
  failure.plugin = text_of(why.plugin);
  failure.path = text_of(why.path);
  failure.problem = text_of(why.problem);
  failure.expected = text_of(why.expected);
  failure.found = text_of(why.found);
  failure.remedy = text_of(why.remedy);
  failure.place = text_of(why.place);
  failure.quarantined = (why.flags & TENON_REFUSAL_QUARANTINED) != 0;
  if (failure.problem.empty()) {
    failure.problem = "the load guard refuses it without a reason";
    failure.remedy = kRemedy;
  }
  return failure;
}

// Runs `call`, which returns a status or nothing. Why it failed: "" when it did not.
template <class Call>
std::string fault_of(const char* function, Call&& call) {
  try {
    tenon_status status = TENON_OK;
    if constexpr (std::is_void_v<decltype(call())>)
      call();
    else
      status = call();
    if (status == TENON_OK) return {};
    return format_text("the load guard failed in {} with status {} ({}) and gave no reason",
                       function, status, error_kind_text(status));
  } catch (const std::exception& error) {
    return format_text("the load guard threw an exception in {}: {}", function, error.what());
  } catch (...) {
    // Also reached by exceptions of another C++ runtime.
    return format_text("the load guard threw an exception of unknown type in {}", function);
  }
}

PluginFailure guard_failure(std::string problem) {
  return make_failure(PluginStage::Read, "", "", std::move(problem), kRemedy);
}

std::vector<const tenon_json*> nodes_of(std::span<const Json> documents) {
  std::vector<const tenon_json*> nodes;
  nodes.reserve(documents.size());
  for (const Json& document : documents) nodes.push_back(document.get());
  return nodes;
}

}  // namespace

// ---- the guard ----

Guard::Guard(const tenon_load_guard& table) : table_(copy_growable(table)) {
  if (table_.adopt == nullptr || table_.review == nullptr || table_.wants == nullptr ||
      table_.judge == nullptr || table_.judge_library == nullptr || table_.before == nullptr ||
      table_.entered == nullptr || table_.after == nullptr) {
    throw Error(TENON_ERROR_ARGUMENT,
                "the load guard has no function for one of its steps; set all of tenon_load_guard "
                "but `release`, and `size` to sizeof(tenon_load_guard)");
  }
}

Guard::~Guard() {
  if (!is_set_ || table_.release == nullptr) return;
  static_cast<void>(fault_of("release", [&] { table_.release(table_.self); }));
}

Guard::Adopted Guard::adopt(const Json& policy, bool applies) const {
  tenon_error* error = nullptr;
  tenon_json* kept = nullptr;
  int32_t reviews = 0;
  tenon_status status = TENON_OK;
  const std::string fault = fault_of("adopt", [&] {
    status = table_.adopt(table_.self, policy.get(), applies ? 1 : 0, &kept, &reviews, &error);
    return status;
  });
  Adopted adopted{Json::take(kept), reviews != 0};
  if (error != nullptr && status != TENON_OK) throw_status(status, error);
  if (error != nullptr) delete error;
  if (!fault.empty()) throw Error(TENON_ERROR_RUNTIME, "{}; {}", fault, kRemedy);
  return adopted;
}

std::vector<PluginFailure> Guard::review(std::span<const Json> documents, bool newest,
                                         const Json& loadable) const {
  std::vector<PluginFailure> failures;
  const std::vector<const tenon_json*> nodes = nodes_of(documents);
  const tenon_guard_report report{
      sizeof report, 0, &failures,
      [](void* sink, const tenon_refusal* why) {
        static_cast<std::vector<PluginFailure>*>(sink)->push_back(failure_of(*why));
      },
      [](void*, const tenon_pinned_library*, int64_t) {}};
  std::string fault = fault_of("review", [&] {
    return table_.review(table_.self, nodes.data(), static_cast<int64_t>(nodes.size()),
                         newest ? 1 : 0, loadable.get(), &report);
  });
  if (!fault.empty() && failures.empty()) failures.push_back(guard_failure(std::move(fault)));
  return failures;
}

// ---- one plugin ----

// Collects the answer of one call.
class GuardedPlugin::Report {
 public:
  Report() : report_{sizeof report_, 0, this, refuse, pin} {}
  const tenon_guard_report* get() const { return &report_; }

  std::optional<PluginFailure> refusal;
  std::optional<std::vector<PinnedLibrary>> pinned;

 private:
  static void TENON_CALL refuse(void* sink, const tenon_refusal* why) {
    auto& report = *static_cast<Report*>(sink);
    if (!report.refusal) report.refusal = failure_of(*why);
  }
  static void TENON_CALL pin(void* sink, const tenon_pinned_library* libraries, int64_t count) {
    auto& list = static_cast<Report*>(sink)->pinned.emplace();
    for (int64_t i = 0; i < count; ++i)
      list.push_back({text_of(libraries[i].name), text_of(libraries[i].path)});
  }

  const tenon_guard_report report_;
};

GuardedPlugin::GuardedPlugin(const GuardTerms& terms, std::string id, std::string path,
                             std::string asked_by)
    : terms_(terms),
      id_(std::move(id)),
      path_(std::move(path)),
      asked_by_(std::move(asked_by)),
      documents_(nodes_of(terms.documents)) {
  file_.size = sizeof file_;
  file_.plugin = string_of(id_);
  file_.path = string_of(path_);
  file_.asked_by = string_of(asked_by_);
  file_.entry = terms_.entry.get();
  file_.policies = documents_.data();
  file_.policy_count = static_cast<int64_t>(documents_.size());
}

// The guard's answer to a step that has a report.
template <class Step, class... Arguments>
std::optional<PluginFailure> GuardedPlugin::ask(const char* function, Step tenon_load_guard::*step,
                                                Report& report, Arguments... arguments) const {
  const tenon_load_guard& guard = terms_.guard->table();
  std::string fault = fault_of(
      function, [&] { return (guard.*step)(guard.self, &file_, arguments..., report.get()); });
  std::optional<PluginFailure> failure = std::move(report.refusal);
  if (!failure && !fault.empty()) failure = guard_failure(std::move(fault));
  if (failure && failure->plugin.empty()) failure->plugin = id_;
  if (failure && failure->path.empty()) failure->path = path_;
  return failure;
}

std::optional<PluginFailure> GuardedPlugin::without_guard() const {
  if (terms_.needed_by.empty()) return std::nullopt;
  return make_failure(
      PluginStage::Read, id_, path_,
      format_text("{} pins or restricts plugins, and this program has no load guard that could "
                  "enforce it",
                  terms_.needed_by),
      "set one: link tenon::trust, and call tenon::trust::install()");
}

uint32_t GuardedPlugin::wants() {
  if (wants_) return *wants_;
  if (terms_.guard == nullptr) return *(wants_ = 0);
  Report report;
  uint32_t wants = 0;
  std::optional<PluginFailure> failure = ask("wants", &tenon_load_guard::wants, report, &wants);
  if (!failure && (wants & ~kKnownWants) != 0) {
    failure = make_failure(
        PluginStage::Read, id_, path_,
        format_text("the load guard wants what this host does not know: {}", wants & ~kKnownWants),
        "build the program with the SDK of this Tenon");
  }
  if (failure) throw PluginError(std::move(*failure));
  return *(wants_ = wants);
}

bool GuardedPlugin::wants_bytes() { return (wants() & TENON_GUARD_WANTS_BYTES) != 0; }

std::optional<PluginFailure> GuardedPlugin::judge(uint32_t occasion, const PluginFacts& facts,
                                                  const FileStamp& stamp, const SealedFile* copy) {
  if (terms_.guard == nullptr) return without_guard();
  file_.occasion = occasion;
  file_.stamp = stamp_of(stamp);
  Json document;
  std::shared_ptr<const void> bytes;
  try {
    if ((wants() & TENON_GUARD_WANTS_FACTS) != 0) document = facts_document(facts);
    if (copy != nullptr && wants_bytes()) bytes = copy->map();
    file_.facts = document.get();
    file_.bytes = bytes.get();
    file_.byte_count = bytes == nullptr ? 0 : copy->size();
  } catch (const PluginError& error) {
    return error.failure;
  }
  Report report;
  std::optional<PluginFailure> failure = ask("judge", &tenon_load_guard::judge, report);
  file_.facts = nullptr;
  file_.bytes = nullptr;
  file_.byte_count = 0;
  if (!failure && report.pinned && bytes == nullptr) {
    failure = make_failure(PluginStage::Read, id_, path_,
                           "the load guard pins libraries of a plugin whose bytes it did not see",
                           kRemedy);
  }
  pinned_ = std::move(report.pinned);
  return failure;
}

void GuardedPlugin::require_library(const std::string& name, const PinnedLibrary* library,
                                    const std::string& mapped, const SealedFile* bytes) const {
  static const std::string none;
  tenon_guarded_library shown{};
  shown.size = sizeof shown;
  shown.name = string_of(name);
  shown.path = string_of(library == nullptr ? none : library->path);
  shown.mapped = string_of(mapped);
  const std::shared_ptr<const void> mapping = bytes == nullptr ? nullptr : bytes->map();
  shown.bytes = mapping.get();
  shown.byte_count = mapping == nullptr ? 0 : bytes->size();
  Report report;
  std::optional<PluginFailure> failure =
      ask("judge_library", &tenon_load_guard::judge_library, report, &shown);
  if (!failure && library == nullptr) {
    failure = make_failure(
        PluginStage::Read, id_, path_,
        format_text("it links {}, which the load guard has not pinned", quote(name)), kRemedy);
  }
  if (failure) throw PluginError(std::move(*failure));
}

GuardedPlugin::Phase::Phase(GuardedPlugin& plugin) : plugin_(plugin) {
  if (plugin.terms_.guard == nullptr) return;
  plugin.file_.alone = plugin.terms_.alone.get();
  Report report;
  if (auto failure = plugin.ask("before", &tenon_load_guard::before, report, &token_))
    throw PluginError(std::move(*failure));
}

void GuardedPlugin::Phase::entered() noexcept {
  if (plugin_.terms_.guard == nullptr) return;
  const tenon_load_guard& guard = plugin_.terms_.guard->table();
  static_cast<void>(fault_of("entered", [&] { guard.entered(guard.self, token_); }));
}

GuardedPlugin::Phase::~Phase() {
  if (plugin_.terms_.guard == nullptr) return;
  const tenon_load_guard& guard = plugin_.terms_.guard->table();
  static_cast<void>(fault_of("after", [&] { guard.after(guard.self, token_, loaded_); }));
}

}  // namespace tenon::core
