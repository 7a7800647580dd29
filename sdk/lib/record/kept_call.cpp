// Reading kept calls, and making them again.
#include <map>

#include <tenon/grad_mode.hpp>
#include <tenon/op.hpp>
#include <tenon/record/failure.hpp>
#include <tenon/runtime.hpp>
#include <tenon/state/tensor_file.hpp>
#include <tenon/trust/sha256.hpp>

#include "call_document.hpp"
#include "lib/base/format.hpp"
#include "lib/base/text.hpp"

TENON_NAMESPACE_BEGIN

namespace record {

struct KeptCall::State {
  Json document;
  NamedTensors tensors;
};

KeptCall::KeptCall(Json document, NamedTensors tensors)
    : state_(std::make_unique<State>(State{std::move(document), std::move(tensors)})) {
  const Json& read = state_->document;
  if (!read.is_object() || read["format"].integer() != 1)
    throw ValueError("the document of the call is of another version of the format");
  if (!read["op"].is_text() || read["op"].text().empty())
    throw ValueError("the document of the call names no op");
  for (const char* key : {"grad_enabled", "changed"}) {
    if (read[key].defined() && !read[key].is_bool())
      throw ValueError(lib::format_text("'{}' of the call must be a truth", key));
  }
  check_arguments(read, state_->tensors);
}
KeptCall::KeptCall(KeptCall&&) noexcept = default;
KeptCall& KeptCall::operator=(KeptCall&&) noexcept = default;
KeptCall::~KeptCall() = default;

const Json& KeptCall::document() const { return state_->document; }
std::string KeptCall::op() const { return state_->document["op"].text(); }
std::string KeptCall::error() const { return state_->document["error"].text(); }
std::string KeptCall::text() const {
  return lib::format_text("{}({})", op(), arguments_text(state_->document));
}

std::vector<std::string> KeptCall::gaps() const {
  std::vector<std::string> gaps = lib::texts_of(state_->document["gaps"]);
  if (state_->document["changed"].as_bool(false))
    gaps.emplace_back("the call changes operands, and may have changed some before it failed");
  return gaps;
}

std::vector<ChangedPlugin> KeptCall::changed_plugins() const {
  std::map<std::string, Json> found;
  const Json plugins = tenon::document(Document::plugins);
  for (int64_t i = 0; i < plugins.size(); ++i) found[plugins[i]["id"].text()] = plugins[i];
  const auto text = [](const std::string& version, const std::string& hash) {
    return lib::format_text("{}, sha256 {}", version, hash.substr(0, 12));
  };
  std::vector<ChangedPlugin> changed;
  const Json then = state_->document["plugins"];
  for (int64_t i = 0; i < then.size(); ++i) {
    const std::string id = then[i]["id"].text(), hash = then[i]["sha256"].text();
    const auto now = found.find(id);
    ChangedPlugin plugin{id, text(then[i]["version"].text(), hash), ""};
    if (now != found.end()) {
      std::string hash_now;
      try {
        hash_now = trust::sha256_file(now->second["path"].text());
      } catch (const Error&) {  // it has no file that can be read: another one than it was
      }
      if (hash_now == hash) continue;
      plugin.now = text(now->second["version"].text(), hash_now);
    }
    changed.push_back(std::move(plugin));
  }
  return changed;
}

std::vector<Value> KeptCall::call() const {
  const Op op(this->op());
  const KeptArguments arguments(state_->document, state_->tensors);
  const GradMode grad(state_->document["grad_enabled"].as_bool(true));
  const int64_t count = service::ops().result_count(op.handle());
  std::vector<tenon_value> results(static_cast<size_t>(std::max<int64_t>(count, 1)));
  detail::check(service::ops().call_keywords, op.handle(), arguments.values.data(),
                static_cast<int64_t>(arguments.values.size()), arguments.names.data(),
                arguments.named.data(), static_cast<int64_t>(arguments.named.size()),
                results.data());
  std::vector<Value> given;
  for (int64_t i = 0; i < count; ++i) given.emplace_back(results[static_cast<size_t>(i)]);
  return given;
}

KeptCall load_failure(const std::string& path) {
  const Json metadata = state::metadata(path);
  if (!metadata["tenon_failure"].is_text())
    throw ValueError(lib::format_text(
        "{}: this is not the file of a failing call, as TENON_KEEP_FAILURES has them written",
        lib::quote(path)));
  try {
    return {Json::parse(metadata["tenon_failure"].text()), state::load_tensors(path)};
  } catch (const ValueError& error) {
    const std::string message = error.what();
    if (message.find(path) != std::string::npos) throw;
    throw ValueError(lib::format_text("{}: {}", lib::quote(path), message));
  }
}

}  // namespace record

TENON_NAMESPACE_END
