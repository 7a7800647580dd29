// A load guard whose answers the test gives; without them it accepts everything.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/plugin/load/guard.hpp"

namespace tenon::core::test {

inline std::string text_in(const tenon_string& text) {
  return {text.data, static_cast<size_t>(text.length)};
}

inline void refuse(const tenon_guard_report& report, std::string_view problem, uint32_t flags = 0) {
  tenon_refusal why{};
  why.size = sizeof why;
  why.stage = TENON_STAGE_READ;
  why.flags = flags;
  why.problem = {problem.data(), static_cast<int64_t>(problem.size())};
  report.refuse(report.sink, &why);
}

struct FakeGuard {
  using File = tenon_guarded_file;
  using Library = tenon_guarded_library;
  using Report = tenon_guard_report;

  uint32_t wants = 0;
  std::function<tenon_status(const Json& policy, bool applies, Json& kept, int32_t& reviews)>
      on_adopt = [](const Json&, bool, Json&, int32_t&) { return TENON_OK; };
  std::function<tenon_status(const Json& loadable, bool newest, const Report&)> on_review =
      [](const Json&, bool, const Report&) { return TENON_OK; };
  std::function<tenon_status(const File&, const Report&)> on_wants, on_judge,
      on_before = [](const File&, const Report&) { return TENON_OK; };
  std::function<tenon_status(const File&, const Library&, const Report&)> on_library =
      [](const File&, const Library&, const Report&) { return TENON_OK; };
  std::vector<std::string> phases;  // "before", "entered", "after 1", "release"

  FakeGuard() { on_wants = on_judge = on_before; }
  FakeGuard(const FakeGuard&) = delete;
  FakeGuard& operator=(const FakeGuard&) = delete;

  static FakeGuard& of(void* self) { return *static_cast<FakeGuard*>(self); }

  tenon_load_guard table() {
    tenon_load_guard table{};
    table.size = sizeof table;
    table.self = this;
    table.adopt = [](void* self, const tenon_json* policy, int32_t applies, tenon_json** kept,
                     int32_t* reviews, tenon_error**) {
      Json document;
      const tenon_status status = of(self).on_adopt(Json(policy), applies != 0, document, *reviews);
      *kept = document.give();
      return status;
    };
    table.review = [](void* self, const tenon_json* const*, int64_t, int32_t newest,
                      const tenon_json* loadable, const Report* report) {
      return of(self).on_review(Json(loadable), newest != 0, *report);
    };
    table.wants = [](void* self, const File* file, uint32_t* wanted, const Report* report) {
      *wanted = of(self).wants;
      return of(self).on_wants(*file, *report);
    };
    table.judge = [](void* self, const File* file, const Report* report) {
      return of(self).on_judge(*file, *report);
    };
    table.judge_library = [](void* self, const File* file, const Library* library,
                             const Report* report) {
      return of(self).on_library(*file, *library, *report);
    };
    table.before = [](void* self, const File* file, void** token, const Report* report) {
      of(self).phases.emplace_back("before");
      *token = self;
      return of(self).on_before(*file, *report);
    };
    table.entered = [](void*, void* token) { of(token).phases.emplace_back("entered"); };
    table.after = [](void*, void* token, int32_t loaded) {
      of(token).phases.push_back("after " + std::to_string(loaded));
    };
    table.release = [](void* self) { of(self).phases.emplace_back("release"); };
    return table;
  }
  std::shared_ptr<Guard> guard() { return std::make_shared<Guard>(table()); }
};

}  // namespace tenon::core::test
