// Samples of ops and their results.
#include "sample_results.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <tenon/error.hpp>
#include <tenon/json.hpp>
#include <tenon/listing/listing.hpp>
#include <tenon/print.hpp>
#include <tenon/runtime.hpp>
#include <tenon/trust/child_process.hpp>

#include "check/sample.hpp"
#include "exit_code.hpp"
#include "format.hpp"
#include "private_folder.hpp"

namespace cli {

using tenon::Json;

namespace {

constexpr double kSeconds = 20;  // for all samples of a plugin
constexpr size_t kMostSamples = 3;
constexpr size_t kLongest = 4000;  // bytes of the text of a result

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
  const auto accepts = [&](const Sample& sample) {
    try {
      const SampleCall call(op, sample, 0);
      call(call.tensors);
      return true;
    } catch (const std::exception& error) {
      refusal = error.what();
      return false;
    }
  };
  return generate_samples(parameters, accepts, &refusal).samples;
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
  std::ofstream out(options.results, std::ios::app);
  const Json ops = tenon::listing::declarations(options.plugin)["ops"];
  for (int64_t i = 0; i < ops.size(); ++i) {
    const std::string name = ops[i]["name"].text(), text = ops[i]["samples"].text();
    out << tenon::JsonObject().set("begins", name).json().dump() << std::endl;
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
    out << line_of(name, results) << std::endl;
  }
  return kFine;
}

// ---- the parent ----

std::string key_of_plugin(const std::string& id) { return "plugin " + id; }

std::map<std::string, std::vector<SampleResult>> results_of_samples(
    const std::vector<std::string>& plugins, const SessionOptions& session) {
  std::map<std::string, std::vector<SampleResult>> found;
  const PrivateFolder folder;
  for (size_t i = 0; i < plugins.size(); ++i) {
    SampleRunOptions options;
    options.plugin = plugins[i];
    options.results = format_text("{}/{}.jsonl", folder.path(), i);
    options.folder = format_text("{}/{}", folder.path(), i);
    options.session = session;
    for (auto* paths : {&options.session.plugin_paths, &options.session.trusted}) {
      for (std::string& path : *paths) path = std::filesystem::absolute(path).string();
    }
    std::filesystem::create_directory(options.folder);
    tenon::trust::ChildCommand command;
    command.program = std::filesystem::read_symlink("/proc/self/exe").string();
    command.folder = options.folder;  // files without a folder in their name go with it
    command.arguments = words_of(options);
    command.arguments.insert(command.arguments.begin(), {"tenon-catalogue", "samples"});
    tenon::trust::ChildProcess child(command);
    const bool ended = child.wait(kSeconds);
    std::string begun = key_of_plugin(options.plugin), line;
    std::ifstream in(options.results);
    while (std::getline(in, line)) {
      Json document;
      try {
        document = Json::parse(line);
      } catch (const tenon::Error&) {
        break;  // the child ended as it wrote this line
      }
      if (document["begins"].defined()) {
        begun = document["begins"].text();
        continue;
      }
      begun.clear();
      std::vector<SampleResult>& samples = found[document["op"].text()];
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
    if (begun.empty()) continue;
    const std::string end = !ended ? format_text("after {} seconds it still ran", kSeconds)
                            : child.status() ? tenon::trust::end_text(*child.status())
                                             : "it ended";
    found[begun].push_back({"", {}, {}, "the process that ran the samples ended here: " + end});
  }
  return found;
}

}  // namespace cli
