// Keeping calls that fail: modes that look at the status of each call.
#include <cctype>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <mutex>
#include <unistd.h>

#include <sys/file.h>

#include <tenon/abi/version.h>
#include <tenon/mode.hpp>
#include <tenon/record/failure.hpp>
#include <tenon/runtime.hpp>
#include <tenon/state/tensor_file.hpp>

#include "call_document.hpp"
#include "call_text.hpp"
#include "lib/base/format.hpp"
#include "lib/base/text.hpp"
#include "plugin_files.hpp"

TENON_NAMESPACE_BEGIN

namespace record {

namespace {

constexpr auto kBeginning = "failure-";

// Calls inside of each other whose failure the outermost keeps.
thread_local int calls_within = 0;

class WithinCall {
 public:
  WithinCall() { ++calls_within; }
  ~WithinCall() { --calls_within; }
  WithinCall(const WithinCall&) = delete;
  WithinCall& operator=(const WithinCall&) = delete;
};

// Other processes that keep calls in the folder wait until it is closed.
class FolderLock {
 public:
  explicit FolderLock(const std::string& folder)
      : descriptor_(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (descriptor_ >= 0) flock(descriptor_, LOCK_EX);
  }
  ~FolderLock() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_;
};

int64_t files_in(const std::string& folder) {
  int64_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    count += name.rfind(kBeginning, 0) == 0 && entry.path().extension() == ".safetensors" ? 1 : 0;
  }
  return count;
}

std::string file_name(const std::string& op, int64_t number) {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char time[32];
  std::strftime(time, sizeof time, "%Y%m%dT%H%M%S", &parts);
  std::string name;
  for (const char c : op)
    name += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' ? c : '-';
  return lib::format_text("{}{}-{}-{}-{}.safetensors", kBeginning, name, time, getpid(), number);
}

std::string provider_named(const tenon_call& call, const tenon_error* error) {
  const char* const named = error == nullptr ? nullptr : service::values().error_provider(error);
  if (named != nullptr && *named != 0) return named;
  const Json list = providers(ItemKind::op, service::ops().name(call.op));
  return list.size() > 0 ? list[0]["plugin"].text() : "";
}

bool changes_operands(const tenon_op* op) {
  Value schema;
  detail::check(service::ops().schema, op, schema.slot());
  const Json parameters = parse_schema(schema.text())["parameters"];
  for (int64_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i]["mutates"].as_bool(false) && parameters[i]["name"].text() != "out")
      return true;
  }
  return false;
}

void warn(const std::string& message) {
  service::threads().log(3, "record", message.data(), static_cast<int64_t>(message.size()));
}

}  // namespace

class FailureKeeper::State {
 public:
  State(std::string folder, KeeperOptions options) : folder_(std::move(folder)), options_(options) {
    enter(&State::called, Level::recorder, called_);
    try {
      enter(&State::run, Level::below_autograd, run_);
    } catch (...) {
      service::modes().leave(called_, nullptr);
      throw;
    }
  }
  ~State() {
    service::modes().leave(run_, nullptr);
    service::modes().leave(called_, nullptr);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  const std::vector<std::string>& files() const { return files_; }

 private:
  void enter(tenon_handler_function handler, Level level, tenon_mode*& mode) {
    detail::check(service::modes().enter, "keep failures", handler, static_cast<void*>(this),
                  static_cast<int32_t>(level), &mode);
  }

  // Above autograd: what the application calls, as it is written.
  static tenon_status TENON_CALL called(void* self, const tenon_call* call, tenon_value* results,
                                        tenon_error** error) {
    return static_cast<State*>(self)->look(*call, results, error, true);
  }
  // Below: what a backward runs, which no application calls.
  static tenon_status TENON_CALL run(void* self, const tenon_call* call, tenon_value* results,
                                     tenon_error** error) {
    return static_cast<State*>(self)->look(*call, results, error,
                                           service::graph().backward_id() != 0);
  }

  tenon_status look(const tenon_call& call, tenon_value* results, tenon_error** error, bool keeps) {
    const bool outermost = calls_within == 0;
    tenon_status status = TENON_OK;
    {
      const WithinCall within;
      status = service::types().call_parent(&call, nullptr, results, error);
    }
    if (status == TENON_OK || status == TENON_ERROR_INTERRUPTED || !keeps || !outermost) [[likely]]
      return status;
    keep(call, status, error == nullptr ? nullptr : *error);
    return status;
  }

  // The error of the call is the caller's, whatever happens here.
  void keep(const tenon_call& call, tenon_status status, const tenon_error* error) noexcept {
    try {
      const WithinCall within;  // calls that are made here are not the application's
      const std::lock_guard lock(mutex_);
      write(call, status, error);
    } catch (const std::exception& fault) {
      try {
        if (!warned_) warn(lib::format_text("a failing call is not kept: {}", fault.what()));
      } catch (...) {
      }
      warned_ = true;
    }
  }

  void write(const tenon_call& call, tenon_status status, const tenon_error* error) {
    std::filesystem::create_directories(folder_);
    const FolderLock folder(folder_);
    if (files_in(folder_) >= options_.most_files) {
      if (!warned_)
        warn(lib::format_text("a failing call is not kept: '{}' has {} already; remove some",
                              folder_, counted(options_.most_files, "file")));
      warned_ = true;
      return;
    }
    CallDocument packed = document_of(call, options_.most_bytes);
    const std::string op = service::ops().name(call.op);
    Value schema;
    detail::check(service::ops().schema, call.op, schema.slot());
    const char* const message = error == nullptr ? nullptr : service::values().error_message(error);
    const Json document =
        JsonObject()
            .set("format", 1)
            .set("op", op)
            .set("schema", schema.text())
            .set("provider", provider_named(call, error))
            .set("error", lib::format_text("{}: {}", Error(status, "").kind_name(),
                                           message == nullptr ? "" : message))
            .set("positional", packed.positional)
            .set("keywords", packed.keywords)
            .set("gaps", packed.gaps)
            .set("changed", changes_operands(call.op))
            .set("grad_enabled", service::autograd().grad_mode() != 0)
            .set("backward", service::graph().backward_id() != 0)
            .set("threads", static_cast<int64_t>(service::threads().count()))
            .set("version", lib::format_text("{}.{}.{}", TENON_VERSION_MAJOR, TENON_VERSION_MINOR,
                                             TENON_VERSION_PATCH))
            .set("plugins", loaded_plugins())
            .json();
    std::string path;
    do {
      path = (std::filesystem::path(folder_) / file_name(op, ++number_)).string();
    } while (std::filesystem::exists(path));
    state::save_tensors(path, packed.tensors,
                        JsonObject().set("tenon_failure", document.dump()).json());
    files_.push_back(path);
  }

  const std::string folder_;
  const KeeperOptions options_;
  tenon_mode *called_ = nullptr, *run_ = nullptr;
  std::mutex mutex_;  // guards what follows
  int64_t number_ = 0;
  bool warned_ = false;
  std::vector<std::string> files_;
};

FailureKeeper::FailureKeeper(std::string folder, KeeperOptions options)
    : state_(std::make_unique<State>(std::move(folder), options)) {}
FailureKeeper::~FailureKeeper() = default;
const std::vector<std::string>& FailureKeeper::files() const { return state_->files(); }

}  // namespace record

TENON_NAMESPACE_END
