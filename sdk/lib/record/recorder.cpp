// The recorder: a mode below autograd that writes a line for each call.
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include <tenon/abi/version.h>
#include <tenon/grad_mode.hpp>
#include <tenon/mode.hpp>
#include <tenon/module_watch.hpp>
#include <tenon/parallel.hpp>
#include <tenon/record/trace.hpp>
#include <tenon/runtime.hpp>

#include "call_text.hpp"
#include "lib/base/format.hpp"
#include "lib/base/module_callers.hpp"
#include "plugin_files.hpp"
#include "summary.hpp"

TENON_NAMESPACE_BEGIN

namespace record {

namespace {

std::string chosen_provider(const tenon_call& call) {
  tenon_prepared_call* chosen = nullptr;
  tenon_error* error = nullptr;
  if (service::calls().prepare(call.op, call.arguments, call.argument_count, &chosen, &error) !=
      TENON_OK) {
    service::values().error_release(error);
    return "";
  }
  std::string provider = service::calls().provider(chosen);
  service::calls().release(chosen);
  return provider;
}

std::string isa_text() {
  constexpr const char* names[] = {"baseline", "v3", "v4"};
  const uint32_t isa = service::threads().machine_isa();
  return isa < std::size(names) ? names[isa] : std::to_string(isa);
}

std::string hash_text(uint64_t hash) { return lib::format_text("{:016x}", hash); }

std::string summary_text(const Summary& summary) {
  // Elements of f32 in the digits of f32, which are half as many.
  const auto element_text = [&](double element) {
    const auto single = static_cast<float>(element);
    char digits[32];
    if (summary.dtype != "f32" || !std::isfinite(element)) return number_text(element);
    return std::string(digits, std::to_chars(digits, digits + sizeof digits, single).ptr);
  };
  std::string shape, elements;
  for (const int64_t size : summary.shape)
    shape += lib::format_text("{}{}", shape.empty() ? "" : ",", size);
  for (const double element : summary.elements)
    elements += (elements.empty() ? "" : " ") + element_text(element);
  return lib::format_text(
      R"({{"name":{},"dtype":"{}","shape":[{}],"hash":"{}","nans":{},"range":"{} {} {}","elements":"{}"}})",
      json_text(summary.name), summary.dtype, shape, hash_text(summary.hash), summary.nans,
      number_text(summary.minimum), number_text(summary.maximum), number_text(summary.mean),
      elements);
}

}  // namespace

class TraceRecorder::State : public ModuleWatch {
 public:
  State(const std::string& path, const std::string& title, RecorderOptions options,
        const Json& about)
      : path_(path), options_(options), file_(path, std::ios::trunc) {
    if (!file_)
      throw IOError(lib::format_text("cannot write '{}': {}", path, std::strerror(errno)));
    write(lib::format_text(
        R"({}1,"title":{},"version":"{}.{}.{}","isa":{},"threads":{},"elements":{},"about":{}}})",
        trace_beginning, json_text(title), TENON_VERSION_MAJOR, TENON_VERSION_MINOR,
        TENON_VERSION_PATCH, json_text(isa_text()), thread_count(), options.most_elements,
        about.defined() ? about.dump() : "{}"));
    file_.flush();  // the file of a run that is killed is known by this line
    note_fault();
    detail::check(service::modes().enter, "record", &State::handle, static_cast<void*>(this),
                  static_cast<int32_t>(Level::below_autograd), &mode_);
  }
  ~State() override {
    watching_.reset();
    if (mode_ != nullptr) service::modes().leave(mode_, nullptr);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void watch(const Module& model) {
    if (!here())
      throw RuntimeError("a trace has the modules of the thread that records it: call watch there");
    for (const auto& [name, module] : model.named_modules()) {
      const auto at = static_cast<uint32_t>(labels_.size());
      if (!watched_.emplace(module.number(), at).second) continue;
      labels_.push_back(name.empty() ? lib::format_text("({})", module.type())
                                     : lib::format_text("{} ({})", name, module.type()));
    }
    if (!watching_) watching_.emplace(*this);
  }
  void begins(const Module& module, const HookValues& /*arguments*/) override {
    const uint64_t number = module.number();
    const int64_t backward = service::graph().backward_id();
    const lib::RunningModule* const innermost = running_.empty() ? nullptr : &running_.back();
    const auto found = watched_.find(number);
    const uint32_t at =
        found != watched_.end() ? found->second : callers_.enter(number, backward, innermost);
    running_.push_back({at, backward});
  }
  void ended(const Module& /*module*/, const HookValues& /*results*/) override {
    running_.pop_back();
  }
  void failed(const Module& /*module*/) override { running_.pop_back(); }

  void stop() {
    if (mode_ == nullptr) return;
    watching_.reset();
    detail::check(service::modes().leave, std::exchange(mode_, nullptr));
    write(lib::format_text(R"({{"end":true,"calls":{},"left_out":{},"plugins":{}}})", calls_,
                           left_out_, loaded_plugins().dump()));
    file_.close();
    note_fault();
    if (!fault_.empty())
      throw IOError(lib::format_text("the trace '{}' is not complete: {}", path_, fault_));
  }

 private:
  // Facts of an op that its schema has.
  struct OpFacts {
    std::vector<std::string> results;
    std::vector<std::pair<int64_t, std::string>> changed;  // parameters, with their places
  };
  static OpFacts facts_of(const tenon_op* op) {
    Value schema;
    detail::check(service::ops().schema, op, schema.slot());
    const Json parsed = parse_schema(schema.text());
    OpFacts facts;
    const Json returns = parsed["returns"], parameters = parsed["parameters"];
    for (int64_t i = 0; i < returns.size(); ++i)
      facts.results.push_back(returns[i]["name"].text(
          returns.size() == 1 ? "result" : lib::format_text("result {}", i)));
    for (int64_t i = 0; i < parameters.size(); ++i) {
      if (parameters[i]["mutates"].as_bool(false))
        facts.changed.emplace_back(i, parameters[i]["name"].text());
    }
    return facts;
  }

  static tenon_status TENON_CALL handle(void* self, const tenon_call* call, tenon_value* results,
                                        tenon_error** error) {
    return static_cast<State*>(self)->record(*call, results, error);
  }

  tenon_status record(const tenon_call& call, tenon_value* results, tenon_error** error) {
    const bool mine = here() && !computes_shapes();
    const bool kept = mine && calls_ < options_.most_calls && fault_.empty();
    std::string line;
    if (kept) line = guarded([&] { return begin_text(call); });
    const tenon_status status = service::types().call_parent(&call, nullptr, results, error);
    if (!mine) return status;
    if (!kept) {
      ++left_out_;
      return status;
    }
    ++calls_;
    write(line + guarded([&] { return end_text(call, results, status); }));
    return status;
  }

  // Such calls are those of a profile, say, which asks for the cost of one that follows.
  static bool computes_shapes() {
    int64_t* const counted = service::modes().shapes_only_set(nullptr);
    service::modes().shapes_only_set(counted);
    return counted != nullptr;
  }

  // A fault ends the record, not the call.
  template <class Make>
  std::string guarded(const Make& make) noexcept {
    try {
      const NoGrad no_grad;
      return make();
    } catch (const std::exception& error) {
      if (fault_.empty()) fault_ = error.what();
      return "";
    }
  }
  void write(const std::string& line) noexcept {
    if (!fault_.empty()) return;
    file_ << line << '\n';  // throws nothing: exceptions() is not set
    note_fault();
  }
  void note_fault() noexcept {
    if (!file_ && fault_.empty()) fault_ = std::strerror(errno);
  }

  std::string begin_text(const tenon_call& call) const {
    std::string operands;
    for (int64_t i = 0; i < call.argument_count; ++i) {
      each_tensor(call.arguments[i], [&](tenon_tensor* tensor) {
        operands += lib::format_text(R"({}"{}")", operands.empty() ? "" : ",",
                                     hash_text(checksum(Tensor::borrow(tensor))));
      });
    }
    return lib::format_text(
        R"({{"op":{},"provider":{},"module":{},"backward":{},"arguments":{},"operands":[{}],)",
        json_text(service::ops().name(call.op)), json_text(chosen_provider(call)),
        json_text(label()), service::graph().backward_id() != 0 ? "true" : "false",
        json_text(arguments_text(call)), operands);
  }

  std::string end_text(const tenon_call& call, const tenon_value* results, tenon_status status) {
    std::string text;
    const auto add = [&](const tenon_tensor* tensor, const std::string& name) {
      text += (text.empty() ? "" : ",") +
              summary_text(summarize(Tensor::borrow(const_cast<tenon_tensor*>(tensor)), name,
                                     options_.most_elements));
    };
    if (status == TENON_OK) {
      const OpFacts& facts = known(call.op);
      std::vector<const tenon_tensor*> returned;
      for (size_t r = 0; r < facts.results.size(); ++r) {
        int64_t place = 0;
        const bool list = results[r].tag == TENON_VALUE_TENSOR_LIST;
        each_tensor(results[r], [&](const tenon_tensor* tensor) {
          returned.push_back(tensor);
          add(tensor,
              list ? lib::format_text("{}[{}]", facts.results[r], place++) : facts.results[r]);
        });
      }
      for (const auto& [parameter, name] : facts.changed) {
        const tenon_value& value = call.arguments[parameter];
        int64_t place = 0;
        const bool list = value.tag == TENON_VALUE_TENSOR_LIST;
        each_tensor(value, [&, name = name](const tenon_tensor* tensor) {
          const bool known_already =
              std::find(returned.begin(), returned.end(), tensor) != returned.end();
          const std::string label = list ? lib::format_text("{}[{}]", name, place++) : name;
          if (!known_already) add(tensor, label);
        });
      }
    }
    return lib::format_text(R"("failed":{},"results":[{}]}})",
                            status == TENON_OK ? "false" : "true", text);
  }

  const OpFacts& known(const tenon_op* op) {
    const uint64_t generation = service::calls().ops_generation();
    if (generation != generation_) facts_.clear();
    generation_ = generation;
    const auto found = facts_.find(op);
    return found != facts_.end() ? found->second : facts_.emplace(op, facts_of(op)).first->second;
  }

  // Threads of a loop are under the mode, too.
  bool here() const { return std::this_thread::get_id() == thread_; }
  // Label of the module whose forward runs, or has recorded the node that runs.
  std::string label() const {
    const uint64_t number = service::graph().running_module();
    const auto found = watched_.find(number);
    const uint32_t at = found != watched_.end() ? found->second : callers_.of(number);
    return at == lib::no_module ? "" : labels_[at];
  }

  const std::string path_;
  const RecorderOptions options_;
  std::ofstream file_;
  std::string fault_;
  tenon_mode* mode_ = nullptr;
  const std::thread::id thread_ = std::this_thread::get_id();
  std::vector<std::string> labels_;                 // labels of watched modules
  std::unordered_map<uint64_t, uint32_t> watched_;  // their places, by number
  lib::ModuleCallers callers_;
  std::vector<lib::RunningModule> running_;
  std::optional<ModuleWatchScope> watching_;
  std::unordered_map<const tenon_op*, OpFacts> facts_;
  uint64_t generation_ = 0;
  int64_t calls_ = 0, left_out_ = 0;
};

TraceRecorder::TraceRecorder(const std::string& path, const std::string& title,
                             RecorderOptions options, const Json& about)
    : state_(std::make_unique<State>(path, title, options, about)) {}
TraceRecorder::~TraceRecorder() = default;
void TraceRecorder::watch(const Module& model) { state_->watch(model); }
void TraceRecorder::stop() { state_->stop(); }

}  // namespace record

TENON_NAMESPACE_END
