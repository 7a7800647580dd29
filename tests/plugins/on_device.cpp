// Runs the ops of these tests on a device, with TENON_TEST_DEVICE=sim:0 (`tools/test sim`).
//
// A mode copies the operands of each call there and the results back, both recorded, so that values,
// refusals and gradients of a test are those of the device. Calls that change operands, return views of
// them or read their layout, and those of other tensor types, run as they are: tests/device has them.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <tenon/device.hpp>
#include <tenon/mode.hpp>
#include <tenon/overridable.hpp>
#include <tenon/tenon.hpp>

namespace {

using namespace tenon;

class OnDevice final : public Mode {
 public:
  explicit OnDevice(const std::string& device) : Mode("on " + device), device_(device) {}

  Results tenon_function(const Call& call) override {
    if (!is_moved(call)) return call.call_parent();
    ++calls_;
    std::vector<std::pair<Tensor, Tensor>> moved;
    Results results = call.call_with([&](const Tensor& operand) {
      if (!operand.defined()) return operand;
      for (const auto& [here, there] : moved) {
        if (here.is_same(operand)) return there;
      }
      moved.emplace_back(operand, device::to(operand, device_));
      return moved.back().second;
    });
    results.transform([&](const Tensor& result) {
      for (const auto& [here, there] : moved) {
        if (there.is_same(result)) return here;
      }
      return device::to(result, "cpu");
    });
    return results;
  }
  int64_t calls() const { return calls_; }

 private:
  // By its schema: whether an op gives new tensors alone.
  bool gives_new_tensors(const Op& op) {
    const std::lock_guard lock(mutex_);
    const auto found = known_.find(op.name());
    if (found != known_.end()) return found->second;
    const Json schema = parse_schema(op.schema());
    // An op that reads the layout of an operand would get that of the copy.
    bool fresh = schema["returns"].size() > 0 && op.name().find("as_strided") == std::string::npos;
    for (const char* part : {"parameters", "returns"}) {
      const Json list = schema[part];
      for (int64_t i = 0; i < list.size(); ++i)
        fresh &= !list[i]["alias"].defined() && list[i]["name"].text() != "out";
    }
    return known_[op.name()] = fresh;
  }
  bool is_moved(const Call& call) {
    bool any = false, plain = true;
    call.each_tensor([&](const Tensor& tensor) {
      any = true;
      plain &= tensor.view_record().type == 0 &&
               (tensor.view_record().flags & TENON_TENSOR_SHAPE_ONLY) == 0;
    });
    return any && plain && gives_new_tensors(call.op());
  }

  const device::Device device_;
  std::mutex mutex_;
  std::map<std::string, bool> known_;
  std::atomic<int64_t> calls_{0};
};

// Enters the mode around all tests.
struct Listener final : doctest::IReporter {
  explicit Listener(const doctest::ContextOptions& given) : options(given) {}
  void test_run_start() override {
    const char* const name = std::getenv("TENON_TEST_DEVICE");
    if (name == nullptr || *name == 0) return;
    mode = std::make_unique<OnDevice>(name);
    scope.emplace(*mode);
  }
  void test_run_end(const doctest::TestRunStats&) override {
    if (mode == nullptr) return;
    scope.reset();
    std::printf("%lld calls on %s\n", static_cast<long long>(mode->calls()),
                mode->name.c_str() + 3);
  }
  void report_query(const doctest::QueryData&) override {}
  void test_case_start(const doctest::TestCaseData&) override {}
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_end(const doctest::CurrentTestCaseStats&) override {}
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}

  const doctest::ContextOptions& options;
  std::unique_ptr<OnDevice> mode;
  std::optional<ModeScope> scope;
};

}  // namespace

REGISTER_LISTENER("on_device", 1, Listener);
