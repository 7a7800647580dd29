// Samples of ops and their results.
#include "sample_results.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <optional>
#include <sstream>
#include <thread>
#include <unistd.h>

#include <sys/wait.h>

#include <tenon/error.hpp>
#include <tenon/json.hpp>
#include <tenon/listing/listing.hpp>
#include <tenon/print.hpp>
#include <tenon/runtime.hpp>
#include <tenon/trust/child_process.hpp>

#include "check/sample.hpp"
#include "check/sandbox.hpp"
#include "exit_code.hpp"
#include "format.hpp"
#include "private_folder.hpp"

namespace cli {

using tenon::Json;

namespace {

constexpr unsigned kSecondsOfOp = 10;  // for the samples of one op, and for loading a plugin
constexpr double kSeconds = 60;        // for those of a plugin
constexpr size_t kMostSamples = 3;
constexpr size_t kMostTries = 1000;  // arguments that are tried behind the first that an op takes
constexpr size_t kLongest = 4000;    // bytes of the text of a result

template <class T>
std::string shown(const T& value) {
  std::ostringstream stream;
  stream << value;
  std::string text = stream.str();
  if (text.size() <= kLongest) return text;
  size_t end = kLongest;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + " ...";
}

// ---- the child ----

// Samples that the author declares, or else that the op takes.
std::vector<Sample> samples_of(const std::string& op, const std::string& text,
                               const std::vector<DeclaredType>& parameters) {
  if (!text.empty()) return parse_samples(text, parameters);
  std::string refusal;
  size_t found = 0, tries = 0;
  const auto accepts = [&](const Sample& sample) {
    if (found > 0 && ++tries > kMostTries) return false;
    try {
      const SampleCall call(op, sample, 0);
      call(call.tensors);
      ++found;
      return true;
    } catch (const std::exception& error) {
      refusal = error.what();
      return false;
    }
  };
  Generated generated = generate_samples(parameters, accepts, &refusal);
  if (generated.samples.empty()) throw tenon::ValueError(generated.reason);
  return std::move(generated.samples);
}

SampleResult run_sample(const std::string& op, Sample sample, const std::string& folder) {
  SampleResult result;
  result.sample = sample.dump();
  try {
    prepare_sample(sample, folder, 0);
    const SampleCall call(op, sample, 0);
    for (size_t i = 0; i < call.tensors.size(); ++i)
      result.operands.push_back(
          format_text("{} = {}", call.name_of(i), shown(call.tensors[i].detach())));
    for (const tenon::Value& value : call(call.tensors)) {
      result.results.push_back(value.is_tensor() ? shown(value.tensor().detach()) : shown(value));
    }
  } catch (const std::exception& error) {
    result.fault = error.what();
  }
  return result;
}

std::string line_of(const std::string& op, const std::vector<SampleResult>& samples) {
  tenon::JsonArray list;
  for (const SampleResult& sample : samples) {
    tenon::JsonArray operands, results;
    for (const std::string& text : sample.operands) operands.add(text);
    for (const std::string& text : sample.results) results.add(text);
    list.add(tenon::JsonObject()
                 .set("sample", sample.sample)
                 .set("operands", operands.json())
                 .set("results", results.json())
                 .set("fault", sample.fault)
                 .json());
  }
  return tenon::JsonObject().set("op", op).set("samples", list.json()).json().dump();
}

}  // namespace

int run_samples(const SampleRunOptions& options) {
  enter_sandbox(kSampleStatus);
  std::ofstream out(options.results, std::ios::app);
  const pid_t self = getpid();
  const auto say = [&](const std::string& line) {
    if (getpid() != self) _exit(kFault);  // a copy, by a fork of the plugin that returns twice
    out << line << std::endl;
  };
  std::string refusal;
  alarm(kSecondsOfOp);  // ends this process
  try {
    tenon::load_plugin(options.plugin);
  } catch (const std::exception& error) {
    refusal = error.what();
  }
  say(tenon::JsonObject().set("loads", options.plugin).set("refusal", refusal).json().dump());
  if (!refusal.empty()) return kFault;
  if (options.only_load) return kFine;
  const Json ops = tenon::listing::declarations(options.plugin)["ops"];
  for (int64_t i = options.first; i < ops.size(); ++i) {
    const std::string name = ops[i]["name"].text(), text = ops[i]["samples"].text();
    say(tenon::JsonObject().set("begins", name).json().dump());
    alarm(kSecondsOfOp);
    std::vector<SampleResult> results;
    try {
      const std::vector<Sample> samples =
          samples_of(name, text, declared_types(ops[i]["parameters"]));
      for (size_t k = 0; k < samples.size() && k < kMostSamples; ++k)
        results.push_back(
            run_sample(name, samples[k], format_text("{}/{}-{}", options.folder, i, k)));
    } catch (const std::exception& error) {
      results.push_back({text, {}, {}, error.what()});
    }
    say(line_of(name, results));
  }
  return kFine;
}

// ---- the parent ----

namespace {

using Clock = std::chrono::steady_clock;

// Lines that a child has written.
struct Lines {
  std::map<std::string, std::vector<SampleResult>> by_op;
  bool loaded = false;
  std::string refusal;
  int64_t begun = 0;        // ops
  std::string interrupted;  // the op that ran when the child ended
};

Lines read_lines(const std::string& path) {
  Lines lines;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    Json document;
    try {
      document = Json::parse(line);
    } catch (const tenon::Error&) {
      break;  // the child ended as it wrote this line
    }
    if (document["loads"].defined()) {
      lines.loaded = true;
      lines.refusal = document["refusal"].text();
      continue;
    }
    if (document["begins"].defined()) {
      lines.interrupted = document["begins"].text();
      ++lines.begun;
      continue;
    }
    lines.interrupted.clear();
    std::vector<SampleResult>& samples = lines.by_op[document["op"].text()];
    for (int64_t k = 0; k < document["samples"].size(); ++k) {
      const Json one = document["samples"][k];
      SampleResult result{one["sample"].text(), {}, {}, one["fault"].text()};
      for (int64_t r = 0; r < one["operands"].size(); ++r)
        result.operands.push_back(one["operands"][r].text());
      for (int64_t r = 0; r < one["results"].size(); ++r)
        result.results.push_back(one["results"][r].text());
      samples.push_back(std::move(result));
    }
  }
  return lines;
}

// Status of the process in the sandbox that has ended; nothing where that was killed as a whole.
std::optional<int> status_of(const tenon::trust::Descriptor& reading) {
  int status = 0;
  if (read(reading.number(), &status, sizeof status) != sizeof status) return {};
  return status;
}

std::string end_text(std::optional<int> status) {
  if (!status) return "it was killed";
  if (WIFSIGNALED(*status) && WTERMSIG(*status) == SIGALRM)
    return format_text("stopped after {} seconds", kSecondsOfOp);
  return tenon::trust::end_text(*status);
}

// Processes one after the other, each from behind the op that ended the one before.
SampleResults results_of_plugin(SampleRunOptions options) {
  SampleResults found;
  const auto end = Clock::now() + std::chrono::duration<double>(kSeconds);
  const std::string folder = options.folder;
  for (;;) {
    options.folder = format_text("{}/{}", folder, options.first);
    options.results = options.folder + ".jsonl";
    std::filesystem::create_directories(options.folder);
    tenon::trust::ChildCommand command;
    command.program = std::filesystem::read_symlink("/proc/self/exe").string();
    command.folder = options.folder;  // files without a folder in their name go with it
    command.arguments = words_of(options);
    command.arguments.insert(command.arguments.begin(), {"tenon-catalogue", "samples"});
    tenon::trust::Pipe status;
    command.descriptors = {{kSampleStatus, status.writing.number()}};
    tenon::trust::ChildProcess child(command);
    status.writing.close();
    const double left = std::chrono::duration<double>(end - Clock::now()).count();
    const bool ended = child.wait(std::max(left, 0.0));
    Lines lines = read_lines(options.results);
    found.by_op.merge(lines.by_op);
    const std::string& op = lines.interrupted;
    if (!ended) {
      found.stopped[options.plugin] =
          options.only_load ? format_text("its process was stopped after {} seconds", kSeconds)
                            : format_text("its samples were stopped after {} seconds, {}", kSeconds,
                                          op.empty() ? "between two ops" : "at " + op);
      return found;
    }
    const std::optional<int> end_status = status_of(status.reading);
    if (!lines.loaded)
      found.refused[options.plugin] = "the process that loaded it ended: " + end_text(end_status);
    else if (!lines.refusal.empty())
      found.refused[options.plugin] = lines.refusal;
    else if (op.empty() && end_status != 0)
      found.stopped[options.plugin] =
          (options.only_load ? "it loaded, but its process then ended: "
                             : "the process that ran its samples ended: ") +
          end_text(end_status);
    if (op.empty()) return found;
    found.by_op[op].push_back(
        {"", {}, {}, "the process that ran the samples ended here: " + end_text(end_status)});
    options.first += lines.begun;
  }
}

}  // namespace

SampleResults results_of_samples(const std::vector<std::string>& plugins,
                                 const SessionOptions& session, bool only_load) {
  const PrivateFolder folder;
  std::vector<SampleResults> by_plugin(plugins.size());
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i; (i = next++) < plugins.size();) {
      SampleRunOptions options;
      options.plugin = plugins[i];
      options.folder = format_text("{}/{}", folder.path(), i);
      options.session = session;
      options.only_load = only_load;
      // Processors are for the children; samples are small.
      if (options.session.threads == 0) options.session.threads = 1;
      for (auto* paths : {&options.session.plugin_paths, &options.session.trusted}) {
        for (std::string& path : *paths) path = std::filesystem::absolute(path).string();
      }
      by_plugin[i] = results_of_plugin(options);
    }
  };
  std::vector<std::future<void>> workers;
  const size_t count =
      std::max<size_t>(1, std::min<size_t>(plugins.size(), std::thread::hardware_concurrency()));
  workers.reserve(count);
  for (size_t i = 0; i < count; ++i) workers.push_back(std::async(std::launch::async, work));
  for (std::future<void>& worker : workers) worker.get();

  SampleResults found;
  for (SampleResults& one : by_plugin) {
    found.refused.merge(one.refused);
    found.stopped.merge(one.stopped);
    for (auto& [op, samples] : one.by_op) {
      std::vector<SampleResult>& known = found.by_op[op];
      for (SampleResult& sample : samples) {
        const auto same = [&](const SampleResult& other) {
          return other.sample == sample.sample && other.fault == sample.fault;
        };
        if (std::none_of(known.begin(), known.end(), same)) known.push_back(std::move(sample));
      }
    }
  }
  return found;
}

}  // namespace cli
