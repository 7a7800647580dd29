// A subclass of Tensor whose handler logs every call and then continues with its parent's.
#include <string>

#include <tenon/plugin.hpp>
#include <tenon/ops.hpp>
#include <tenon/type_definition.hpp>

using tenon::Call, tenon::Results, tenon::Tensor;

struct LoggingTensor {
  static constexpr auto name = "LoggingTensor";
  static constexpr auto parent = "Tensor";
  static constexpr auto doc = "Logs every op that it meets.";

  static Results tenon_function(const Call& call) {
    const std::string line = "func: " + call.short_name() + ", args: " + call.args_text() +
                             ", kwargs: " + call.kwargs_text();
    tenon::service::threads().log(3, "logging_tensor", line.data(),
                                  static_cast<int64_t>(line.size()));
    // Calling the op again would come back here.
    return call.call_parent();
  }
};
TENON_TYPE(LoggingTensor)

struct Make {
  static constexpr auto schema = "examples.logging_tensor(Tensor(a) data) -> Tensor(a)";
  static constexpr auto doc = "The same tensor as a LoggingTensor.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& data) { return tenon::wrap<LoggingTensor>(data); }
};
TENON_OP(Make)

TENON_PLUGIN(logging_tensor, "1.0.0")
