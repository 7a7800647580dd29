// tenon bench: how long calls of a model take, prepared or as it is.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <tenon/config/config.hpp>
#include <tenon/grad_mode.hpp>
#include <tenon/ops.hpp>
#include <tenon/parallel.hpp>
#include <tenon/prepare/prepare.hpp>
#include <tenon/runtime.hpp>
#include <tenon/state/module_file.hpp>
#include <tenon/training/config.hpp>

#include "commands.hpp"
#include "exit_code.hpp"
#include "format.hpp"
#include "given_inputs.hpp"
#include "json.hpp"
#include "table.hpp"
#include "terminal.hpp"
#include "text.hpp"

namespace cli {

namespace {

using Clock = std::chrono::steady_clock;
using tenon::Tensor;

struct BenchOptions {
  std::string config;
  std::vector<std::string> inputs;
  bool as_is = false, json = false;
  int streams = 1;
  int64_t calls = 0;
  double seconds = 1;
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// One stream of calls: one at a time, each with the same inputs.
class Stream {
 public:
  Stream(tenon::Prepared model, const std::vector<Tensor>& inputs, bool as_is)
      : model_(std::move(model)), as_is_(as_is) {
    for (const Tensor& input : inputs) values_.push_back(tenon::Argument(input).value());
  }

  // Seconds of one call.
  double call() const {
    tenon_value results[tenon::detail::max_results]{};
    const Clock::time_point start = Clock::now();
    const auto count = static_cast<int64_t>(values_.size());
    if (as_is_) {
      tenon::detail::check(tenon::service::modules().call, model_.handle(), values_.data(), count,
                           static_cast<const tenon_string*>(nullptr),
                           static_cast<const tenon_value*>(nullptr), int64_t{0},
                           static_cast<tenon_value*>(results), int64_t{-1});
    } else {
      model_.call_values(values_.data(), count, results, -1);
    }
    for (tenon_value& result : results) tenon::service::values().release(&result);
    return seconds_since(start);
  }
  // `calls` times; 0: at least 10 times, and until `seconds` have passed.
  void run(int64_t calls, double seconds) {
    const tenon::NoGrad no_grad;
    const Clock::time_point start = Clock::now();
    const auto continues = [&] {
      const auto done = static_cast<int64_t>(times_.size());
      return calls > 0 ? done < calls : done < 10 || seconds_since(start) < seconds;
    };
    try {
      while (continues()) times_.push_back(call());
    } catch (...) {
      error_ = std::current_exception();
    }
  }
  const std::vector<double>& times() const { return times_; }
  void rethrow() const {
    if (error_ != nullptr) std::rethrow_exception(error_);
  }

 private:
  const tenon::Prepared model_;
  const bool as_is_;
  std::vector<tenon_value> values_;
  std::vector<double> times_;
  std::exception_ptr error_;
};

// Bytes of memory that the process has had at most; 0 where the system does not say.
int64_t peak_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    int64_t kilobytes = 0;
    if (word == "VmHWM:" && status >> kilobytes) return kilobytes * 1024;
  }
  return 0;
}

struct BenchResult {
  double first = 0, wall = 0;
  std::vector<double> times;  // sorted
  double quantile(double part) const {
    const auto last = static_cast<double>(times.size() - 1);
    return times[static_cast<size_t>(std::lround(part * last))];
  }
  double calls_per_second() const { return static_cast<double>(times.size()) / wall; }
};

BenchResult measure(std::vector<Stream>& streams, const BenchOptions& options) {
  BenchResult result;
  const tenon::NoGrad no_grad;
  result.first = streams.front().call();
  for (const Stream& stream : streams) {  // each makes its list, and its second call runs it
    for (int i = 0; i < 2; ++i) stream.call();
  }
  const Clock::time_point start = Clock::now();
  std::vector<std::thread> threads;
  for (size_t s = 1; s < streams.size(); ++s)
    threads.emplace_back([&, s] { streams[s].run(options.calls, options.seconds); });
  streams.front().run(options.calls, options.seconds);
  for (std::thread& thread : threads) thread.join();
  result.wall = seconds_since(start);
  for (const Stream& stream : streams) {
    stream.rethrow();
    result.times.insert(result.times.end(), stream.times().begin(), stream.times().end());
  }
  std::sort(result.times.begin(), result.times.end());
  return result;
}

std::string time_text(double seconds) {
  if (seconds < 1e-3) return format_text("{:.2f} us", seconds * 1e6);
  return seconds < 1 ? format_text("{:.3f} ms", seconds * 1e3) : duration(seconds);
}

int bench_model(const BenchOptions& options, const SessionOptions& session) {
  const bool opens = is_prepared_file(options.config);
  if (opens && options.as_is)
    throw UsageError("--as-is is for a model; the file of a prepared one has its lists alone");
  tenon::Json document;
  if (!opens) {
    const tenon::training::TrainingConfig config(tenon::training::read_config(options.config));
    tenon::config::apply(config.document);
    document = config.model;
  }
  // Streams use the cores; ops of each would wait for those of others.
  if (options.streams > 1 && session.threads == 0) tenon::set_thread_count(1);
  const tenon::NoGrad no_grad;
  tenon::Module model;
  tenon::Prepared prepared;
  if (opens) {
    prepared = open_prepared_file(options.config);
  } else {
    model = tenon::state::create_module(document);
    model.eval();
    prepared = tenon::prepare(model);
  }
  GivenInputs given =
      opens ? GivenInputs(options.config, prepared) : GivenInputs(options.config, model);
  for (const std::string& input : options.inputs) given.give(input);
  tenon::seed_generator(0);
  const std::vector<Tensor> inputs = given.tensors(GivenInputs::Elements::random);

  std::vector<tenon::Prepared> clones{prepared};
  while (clones.size() < static_cast<size_t>(options.streams)) clones.push_back(prepared.clone());
  std::vector<Stream> streams;
  streams.reserve(clones.size());
  for (const tenon::Prepared& clone : clones) streams.emplace_back(clone, inputs, options.as_is);
  const BenchResult result = measure(streams, options);

  const bool listed = !options.as_is && prepared.listed_runs() > 0;
  const std::vector<std::string> reasons = prepared.reasons();
  const std::vector<tenon::PreparedList> lists = prepared.lists();
  const int64_t peak = peak_memory(), results = listed ? lists.front().peak_bytes : 0;
  if (options.json) {
    print_json(tenon::JsonObject()
                   .set("model", options.config)
                   .set("prepared", listed)
                   .set("reasons", text_array(reasons))
                   .set("threads", int64_t{tenon::thread_count()})
                   .set("streams", int64_t{options.streams})
                   .set("calls", static_cast<int64_t>(result.times.size()))
                   .set("first_seconds", result.first)
                   .set("least_seconds", result.times.front())
                   .set("median_seconds", result.quantile(0.5))
                   .set("p90_seconds", result.quantile(0.9))
                   .set("p99_seconds", result.quantile(0.99))
                   .set("calls_per_second", result.calls_per_second())
                   .set("peak_memory", peak)
                   .set("result_memory", results));
    return kFine;
  }
  Table table({{"CALLS", Align::right},
               {"FIRST", Align::right},
               {"LEAST", Align::right},
               {"MEDIAN", Align::right},
               {"90 %", Align::right},
               {"99 %", Align::right},
               {"PER SECOND", Align::right}});
  table.add({grouped(static_cast<int64_t>(result.times.size())), time_text(result.first),
             time_text(result.times.front()), time_text(result.quantile(0.5)),
             time_text(result.quantile(0.9)), time_text(result.quantile(0.99)),
             format_text("{:.1f}", result.calls_per_second())});
  print(table.text());
  print_fitted(format_text("{}, {}, {}; memory of the process at most: {} bytes\n",
                           listed ? "prepared" : "as it is", counted(options.streams, "stream"),
                           counted(tenon::thread_count(), "thread"), grouped(peak)));
  if (listed)
    print_fitted(format_text("results at the same time at most: {} bytes\n", grouped(results)));
  for (const std::string& reason : reasons)
    print(wrapped(format_text("the model has run as it is: {}", reason), 0, line_width(92)));
  return kFine;
}

}  // namespace

void define_bench(Commands& commands) {
  auto [command, options] = commands.add(
      bench_model, "bench",
      "Measure how long calls of a model take, prepared for inference or as it is",
      "  tenon bench detector.onnx --input x=1x3x320x320\n"
      "  tenon bench digits.json --input input=64x1x8x8 --as-is\n"
      "  tenon bench detector.onnx --input x=1x3x320x320 --streams 2\n"
      "Inputs that are not given have random elements of [0, 1), integers 0. The first call makes "
      "the "
      "list of the calls, which is not part of the others. Streams call at the same time, with one "
      "copy of the weights, each with one thread where --threads does not say more.");
  command.argument(options.config, "CONFIG",
                   "The config file, or the file of a model, prepared or not");
  command.inputs(options.inputs);
  command.flag("--as-is", options.as_is, "Call the model itself, without preparing it");
  command.number("--streams", options.streams, 1, 1024, "N", "Calls at the same time");
  command.number("--calls", options.calls, 1, 1e9, "N", "Calls of each stream");
  command.number("--seconds", options.seconds, 0, 1e6, "SECONDS",
                 "Time to call for, where --calls is not given, and 10 calls at least");
  command.exclude("--calls", "--seconds");
  command.json(options.json);
}

}  // namespace cli
