// tenon call: calls any op with what the command line gives.
#include <algorithm>
#include <chrono>
#include <optional>

#include <tenon/autograd.hpp>
#include <tenon/call.hpp>
#include <tenon/listing/listing.hpp>
#include <tenon/listing/why.hpp>
#include <tenon/ops.hpp>
#include <tenon/parallel.hpp>
#include <tenon/runtime.hpp>

#include "commands.hpp"
#include "format.hpp"
#include "json.hpp"
#include "model_call.hpp"
#include "op_document.hpp"
#include "text.hpp"
#include "written_arguments.hpp"

namespace cli {

using tenon::Json;
using tenon::Tensor;

namespace {

struct CallOptions {
  std::string op, output;
  std::vector<std::string> arguments;
  uint64_t seed = 0;
  bool grad = false, jvp = false, time = false, why = false, json = false;
};

struct Result {
  std::string name;
  tenon::Value value;
};

std::vector<std::string> result_names(const tenon::Op& op) {
  const Json returns = tenon::parse_schema(op.schema())["returns"];
  std::vector<std::string> names;
  for (int64_t i = 0; i < returns.size(); ++i)
    names.push_back(
        returns[i]["name"].text(returns.size() == 1 ? "result" : format_text("result {}", i)));
  return names;
}

tenon::Results run(const tenon::Op& op, const WrittenArguments::Given& given) {
  const int64_t count = tenon::service::ops().result_count(op.handle());
  tenon::Results results = tenon::Results::of_count(count);
  tenon::detail::check(tenon::service::ops().call_keywords, op.handle(), given.values.data(),
                       static_cast<int64_t>(given.values.size()), given.names.data(),
                       given.named.data(), static_cast<int64_t>(given.named.size()),
                       results.slots());
  return results;
}

std::vector<Result> call(const tenon::Op& op, WrittenArguments& arguments) {
  const std::vector<std::string> names = result_names(op);
  tenon::Results results = run(op, arguments.given());
  std::vector<Result> list;
  for (size_t i = 0; i < names.size(); ++i)
    list.push_back({names[i], results.take(static_cast<int64_t>(i))});
  return list;
}

// The tensors among results, those of lists with their place.
tenon::state::NamedTensors tensors_of(const std::vector<Result>& results) {
  tenon::state::NamedTensors list;
  for (const Result& result : results) {
    if (result.value.is_tensor()) {
      list.emplace_back(result.name, result.value.tensor());
    } else if (result.value.get().tag == TENON_VALUE_TENSOR_LIST) {
      const std::vector<Tensor> tensors = result.value.tensors();
      for (size_t i = 0; i < tensors.size(); ++i)
        list.emplace_back(format_text("{}_{}", result.name, i), tensors[i]);
    }
  }
  return list;
}

bool has_gradient(const Tensor& tensor) {
  return tensor.defined() &&
         (tenon::is_floating(tensor.dtype()) || tenon::is_complex(tensor.dtype()));
}

std::vector<WrittenArguments::Operand*> differentiable(WrittenArguments& arguments,
                                                       const char* option) {
  std::vector<WrittenArguments::Operand*> list;
  for (WrittenArguments::Operand& operand : arguments.operands()) {
    if (has_gradient(operand.tensor)) list.push_back(&operand);
  }
  if (list.empty())
    throw tenon::ValueError(
        format_text("{} needs an argument that is a floating point tensor", option));
  return list;
}

// Gradients of the sum of the results with respect to each argument.
tenon::state::NamedTensors gradients(const tenon::Op& op, WrittenArguments& arguments) {
  const auto inputs = differentiable(arguments, "--grad");
  std::vector<Tensor> plain, leaves;
  for (WrittenArguments::Operand* input : inputs) {
    plain.push_back(input->tensor);
    input->tensor = input->tensor.detach();
    input->tensor.requires_grad_();
    leaves.push_back(input->tensor);
  }
  std::vector<Tensor> roots, seeds;
  for (const auto& [name, result] : tensors_of(call(op, arguments))) {
    if (!result.requires_grad()) continue;
    roots.push_back(result);
    seeds.push_back(tenon::ones_like(result));
  }
  if (roots.empty())
    throw tenon::ValueError(format_text("no result of {} has a gradient", op.name()));
  tenon::GradientOptions options;
  options.seeds = seeds;
  options.materialize_grads = true;
  const std::vector<Tensor> found = tenon::gradients(roots, leaves, options);
  tenon::state::NamedTensors list;
  for (size_t i = 0; i < inputs.size(); ++i) {
    list.emplace_back(format_text("gradient of {}", inputs[i]->name), found[i]);
    inputs[i]->tensor = plain[i];
  }
  return list;
}

// Tangents of the results where each argument has a tangent of ones.
tenon::state::NamedTensors tangents(const tenon::Op& op, WrittenArguments& arguments) {
  const tenon::DualLevel level;
  const auto inputs = differentiable(arguments, "--jvp");
  std::vector<Tensor> plain;
  for (WrittenArguments::Operand* input : inputs) {
    plain.push_back(input->tensor);
    input->tensor = tenon::make_dual(input->tensor, tenon::ones_like(input->tensor));
  }
  tenon::state::NamedTensors list;
  for (const auto& [name, result] : tensors_of(call(op, arguments))) {
    const Tensor tangent = tenon::unpack_dual(result).tangent;
    if (tangent.defined()) list.emplace_back(format_text("tangent of {}", name), tangent);
  }
  for (size_t i = 0; i < inputs.size(); ++i) inputs[i]->tensor = plain[i];
  if (list.empty())
    throw tenon::ValueError(format_text("no result of {} has a tangent", op.name()));
  return list;
}

struct Time {
  double seconds = 0;  // the median
  int64_t calls = 0;
};
// Calls until a fifth of a second is over: once at least, a million times at most.
Time time_call(const tenon::Op& op, WrittenArguments& arguments) {
  using Clock = std::chrono::steady_clock;
  constexpr double kEnough = 0.2;
  constexpr size_t kMost = 1000000;
  const tenon::NoGrad no_grad;
  const WrittenArguments::Given& given = arguments.given();
  std::vector<double> times;
  const auto begin = Clock::now();
  do {
    const auto start = Clock::now();
    const tenon::Results made = run(op, given);
    times.push_back(std::chrono::duration<double>(Clock::now() - start).count());
  } while (times.size() < kMost &&
           std::chrono::duration<double>(Clock::now() - begin).count() < kEnough);
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return {*middle, static_cast<int64_t>(times.size())};
}

std::string short_time(double seconds) {
  if (seconds < 1e-6) return format_text("{:.0f} ns", seconds * 1e9);
  if (seconds < 1e-3) return format_text("{:.2f} us", seconds * 1e6);
  return seconds < 1 ? format_text("{:.2f} ms", seconds * 1e3) : duration(seconds);
}

Json tensor_json(const std::string& name, const Tensor& tensor) {
  tenon::JsonArray shape, values;
  for (const int64_t size : tensor.sizes()) shape.add(size);
  const bool whole = !tenon::is_floating(tensor.dtype()) && !tenon::is_complex(tensor.dtype());
  if (whole) {
    for (const int64_t value : tensor.to_vector<int64_t>()) values.add(value);
  } else if (!tenon::is_complex(tensor.dtype())) {
    for (const double value : tensor.to_vector<double>()) values.add(value);
  }
  tenon::JsonObject object;
  object.set("name", name)
      .set("dtype", tenon::dtype_text(tensor.dtype()))
      .set("shape", shape.json());
  if (tenon::is_complex(tensor.dtype()))
    object.set("text", tensor.text());
  else
    object.set("values", values.json());
  return object.json();
}

Json results_json(const std::vector<Result>& results) {
  tenon::JsonArray list;
  for (const Result& result : results) {
    if (result.value.is_tensor()) {
      list.add(tensor_json(result.name, result.value.tensor()));
    } else if (result.value.get().tag == TENON_VALUE_TENSOR_LIST) {
      const std::vector<Tensor> tensors = result.value.tensors();
      for (size_t i = 0; i < tensors.size(); ++i)
        list.add(tensor_json(format_text("{}[{}]", result.name, i), tensors[i]));
    } else {
      list.add(tenon::JsonObject()
                   .set("name", result.name)
                   .set("text", tenon::text_of(result.value))
                   .json());
    }
  }
  return list.json();
}

Json tensors_json(const tenon::state::NamedTensors& tensors) {
  tenon::JsonArray list;
  for (const auto& [name, tensor] : tensors) list.add(tensor_json(name, tensor));
  return list.json();
}

void print_named(const std::string& name, const std::string& text, bool with_name) {
  print(with_name
            ? format_text("{} {}\n", paint(stdout, Style::dim, format_text("{}:", name)), text)
            : format_text("{}\n", text));
}

int call_op(const CallOptions& options) {
  tenon::seed_generator(options.seed);
  const tenon::Op op(op_document(options.op)["name"].text());
  WrittenArguments arguments(op, options.arguments, options.grad || options.jvp);
  const std::optional<Json> why =
      options.why ? std::optional<Json>(explanation_of(op, arguments)) : std::nullopt;
  if (why && !options.json)
    print_fitted(tenon::listing::explain_text(*why) + shapes_text(op, arguments));
  std::vector<Result> results;
  {
    const tenon::NoGrad no_grad;
    results = call(op, arguments);
  }
  if (!options.output.empty()) {
    ModelCallResult saved;
    saved.outputs = tensors_of(results);
    if (saved.outputs.empty())
      throw tenon::ValueError(format_text("--output: {} returns no tensor", op.name()));
    write_outputs(saved, options.output);
  }
  tenon::state::NamedTensors derived;
  if (options.grad) derived = gradients(op, arguments);
  if (options.jvp) {
    const auto more = tangents(op, arguments);
    derived.insert(derived.end(), more.begin(), more.end());
  }
  const Time time = options.time ? time_call(op, arguments) : Time();
  if (options.json) {
    tenon::JsonObject document;
    document.set("op", op.name()).set("results", results_json(results));
    if (!derived.empty()) document.set("derivatives", tensors_json(derived));
    if (options.time) document.set("seconds", time.seconds).set("calls", time.calls);
    if (why) document.set("why", *why);
    print_json(document);
    return kFine;
  }
  const bool names = results.size() > 1 || !derived.empty();
  for (const Result& result : results) {
    if (options.output.empty() || !derived.empty())
      print_named(result.name, tenon::text_of(result.value), names);
  }
  for (const auto& [name, tensor] : derived) print_named(name, tensor.text(), true);
  if (options.time)
    print(format_text("{} a call, the median of {}\n", short_time(time.seconds),
                      counted(time.calls, "call")));
  return kFine;
}

}  // namespace

void define_call(Commands& commands) {
  auto [command, options] = commands.add(
      call_op, "call", "Call an op with numbers, lists or files, and print its results",
      "  tenon call add 1 2\n"
      "  tenon call mean '[[1, 2], [3, 4.5]]' dim=0\n"
      "  tenon call mul 1+2j '[1, -1j]'\n"
      "  tenon call exp x.npy --output y.npy\n"
      "  tenon call nn.functional.gelu '[-1, 0, 1]' --grad\n"
      "  tenon call mm f32[512,512] f32[512,512] --time\n"
      "  seq 10 | tenon call sum -\n"
      "An argument is a number, complex ones as 1+2j, True, None, a list, a file (FILE:NAME for "
      "one of its tensors), "
      "f32[2,3] for random elements, or - for standard input; :f64 behind it is its dtype. A file "
      "x.npy is read by an op named read_npy, so plugins add formats. With --grad or --jvp whole "
      "numbers are f32, unless an argument has a dtype. A reduction that needs a dim, such as max, "
      "is that of all elements where none is given.");
  command.argument(options.op, "OP", "The op, by full name or its last part");
  command.optional_arguments(options.arguments, "ARG",
                             "Its arguments, in order, then as NAME=VALUE");
  command.flag("--grad", options.grad,
               "Print the gradients of the sum of the results for each tensor");
  command.flag("--jvp", options.jvp,
               "Print the tangents of the results, where each tensor has one of ones");
  command.flag("--time", options.time, "Print the time of a call");
  command.flag("--why", options.why, "Print what runs, and why, before the result");
  command.option("-o,--output", options.output, "FILE",
                 "Write the results to this file: .npy, .npz, .safetensors or .json");
  command.number("--seed", options.seed, 0, static_cast<double>(kLargestSeed), "N",
                 "Random seed of f32[2,3], and of ops that draw (0)");
  command.json(options.json);
}

}  // namespace cli
