// onnx.Exporter: writes a module as an ONNX file.
#include <filesystem>

#include <tenon/plugin.hpp>
#include <tenon/conversion.hpp>
#include <tenon/module_definition.hpp>
#include <tenon/runtime.hpp>
#include <tenon/state/atomic_file.hpp>

#include "export/assembly.hpp"
#include "export/recorder.hpp"
#include "export/source_graph.hpp"
#include "export/versions.hpp"
#include "model_file.hpp"

// Files of this ending are written by a module of this type.
TENON_CONVERSIONS(files, "exports", R"(
onnx = onnx.Exporter
)")

namespace {

using namespace tenon::literals;
using tenon::Json, tenon::Module, tenon::ModuleOf, tenon::Tensor;

// Sizes of batches that are recorded: what follows from the size shows as a difference.
constexpr int64_t kBatches[] = {2, 3, 5};

Tensor with_batch(const Tensor& input, int64_t batch) {
  std::vector<int64_t> shape = input.sizes();
  shape[0] = batch;
  const Tensor made = tenon::empty_tensor(
      tenon::IntList(shape.data(), static_cast<int64_t>(shape.size())), input.dtype());
  tenon::fill_elements(made, 0);
  return made;
}

// Switches the module and all below it to inference, and back.
class Evaluation {
 public:
  explicit Evaluation(const Module& model) {
    for (const Module& module : model.modules()) modes_.emplace_back(module, module.training());
    model.eval();
  }
  Evaluation(const Evaluation&) = delete;
  Evaluation& operator=(const Evaluation&) = delete;
  // Parents come first: what is below them follows.
  ~Evaluation() {
    for (const auto& [module, training] : modes_)
      tenon::service::modules().train(module.handle(), training ? 1 : 0);
  }

 private:
  std::vector<std::pair<Module, bool>> modes_;
};

struct Exporter : ModuleOf<Exporter> {
  static constexpr auto schema =
      "onnx.Exporter(Module model, str path, *, int? opset=None, str dynamic='batch', bool "
      "external=False)";
  static constexpr auto forward_schema = "forward(Tensor[] inputs) -> str";
  static constexpr auto samples = R"([{"model": "Tanh", "path": "model.onnx"}])";
  static constexpr auto doc =
      "Writes an ONNX file of a module, which is called with the inputs; their elements do not "
      "matter. `dynamic` names the first dimension of the inputs, whose size is open; '' keeps the "
      "sizes of the inputs. With `external`, and where they have more than a file of the format "
      "can "
      "hold, weights are in a second file, path.data. Returns a summary.";

  Exporter(const Module& model, std::string_view, std::optional<int64_t> opset, std::string_view,
           bool) {
    if (opset && (*opset < onnx::kFirstOpset || *opset > onnx::kLastOpset)) {
      throw tenon::ValueError("onnx.Exporter: opset must be from " +
                              std::to_string(onnx::kFirstOpset) + " to " +
                              std::to_string(onnx::kLastOpset) + ", got " + std::to_string(*opset));
    }
    register_child("model", model);
  }

  std::string forward(tenon::TensorList inputs) const {
    const Module model = module().child("model");
    const std::string path((*this)["path"_arg]);
    check_path(model, path);
    const std::optional<int64_t> opset = (*this)["opset"_arg];
    const Evaluation evaluation(model);
    onnx::Initializers weights((*this)["external"_arg] || is_large(model) ? path + ".data" : "");
    if (model.type() == "onnx.Model") {
      const onnx::SourceGraph graph(model);
      write(path, graph.model_bytes(opset.value_or(0), weights), weights);
      return summary(opset.value_or(graph.versions().at("")), path, weights);
    }
    onnx::ExportRules rules(opset.value_or(opset_of(model)));
    write(path, assemble(record(model, inputs, rules), names(model), rules, weights), weights);
    return summary(rules.opset(), path, weights);
  }

 private:
  // Whether the weights leave no room for the rest of a file, for which 64 MiB are kept.
  static bool is_large(const Module& model) {
    int64_t bytes = 64 << 20;
    const auto add = [&](const auto& list) {
      for (const auto& [name, tensor] : list)
        bytes += tensor.numel() * tenon::element_size(tensor.dtype());
    };
    add(model.named_parameters());
    add(model.named_buffers());
    return bytes > onnx::Initializers::kMostBytes;
  }
  // The data first: a model is not there without it.
  static void write(const std::string& path, const std::string& bytes,
                    const onnx::Initializers& weights) {
    if (static_cast<int64_t>(bytes.size()) > onnx::Initializers::kMostBytes)
      throw tenon::NotImplementedError(
          "the model has " + std::to_string(bytes.size()) +
          " bytes, and a file of the format has at most 2 GiB; set external to true");
    weights.write();
    tenon::state::write_file(path, bytes);
  }
  static std::string summary(int64_t opset, const std::string& path,
                             const onnx::Initializers& weights) {
    return "opset " + std::to_string(opset) +
           (weights.has_file() ? ", weights in " + path + ".data" : "");
  }
  // Weights are views of the file that a graph is read from: it is not replaced.
  static void check_path(const Module& model, const std::string& path) {
    for (const Module& module : model.modules()) {
      if (module.type() != "onnx.Model") continue;
      const auto source = module.attribute<std::string>("path");
      std::error_code ignored;
      if (std::filesystem::equivalent(source, path, ignored))
        throw tenon::IOError("cannot write '" + path +
                             "': it is the file that the model is read from; name another one");
    }
  }
  static int64_t opset_of(const Module& model) {
    for (const Module& module : model.modules()) {
      if (module.type() != "onnx.Model") continue;
      const onnx::ModelFile file(module.attribute<std::string>("path"));
      for (const onnx::OperatorSet& set : file.data().operator_sets) {
        if (set.domain.empty()) return set.version;
      }
    }
    return onnx::kDefaultOpset;
  }
  std::vector<onnx::BatchRecording> record(const Module& model, tenon::TensorList inputs,
                                           onnx::ExportRules& rules) const {
    if (inputs.empty())
      throw tenon::ValueError(
          "onnx.Exporter: the model is recorded in a call, and there are no inputs to call it "
          "with; name their shapes in the config's \"input\"");
    std::vector<onnx::BatchRecording> recordings;
    if ((*this)["dynamic"_arg].empty()) {
      recordings.push_back(
          {0, onnx::Recorder(rules).record(model, {inputs.begin(), inputs.end()})});
      return recordings;
    }
    for (const Tensor& input : inputs) {
      if (input.dim() == 0)
        throw tenon::ValueError(
            "onnx.Exporter: an input without dimensions has no batch; set dynamic to ''");
    }
    for (const int64_t batch : kBatches) {
      std::vector<Tensor> batched;
      for (const Tensor& input : inputs) batched.push_back(with_batch(input, batch));
      recordings.push_back({batch, onnx::Recorder(rules).record(model, batched)});
    }
    return recordings;
  }
  onnx::AssemblyNames names(const Module& model) const {
    onnx::AssemblyNames names;
    const Json parsed = tenon::parse_schema(model.forward_schema());
    const auto add = [](const Json& list, std::vector<std::string>& texts, const char* fallback) {
      for (int64_t i = 0; i < list.size(); ++i) texts.push_back(list[i]["name"].text(fallback));
    };
    add(parsed["parameters"], names.inputs, "input");
    add(parsed["returns"], names.outputs, "output");
    for (std::string& name : names.outputs) {
      if (name.empty()) name = "output";
    }
    names.weights = model.named_parameters();
    for (auto& buffer : model.named_buffers()) names.weights.push_back(std::move(buffer));
    names.batch = (*this)["dynamic"_arg];
    return names;
  }
};

}  // namespace
TENON_MODULE(Exporter)
