// Records what a module calls as nodes of ONNX.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <unordered_map>

#include <tenon/mode.hpp>
#include <tenon/module_hooks.hpp>

#include "export/export_rules.hpp"
#include "export/recording.hpp"

namespace onnx {

// A call of an op: one value for each parameter.
struct RecordedCall {
  std::string op;
  const OpSignature* signature = nullptr;
  const tenon_value* arguments = nullptr;
  const tenon_value* results = nullptr;
  int64_t result_count = 0;
};

class Recorder {
 public:
  explicit Recorder(ExportRules& rules);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  ~Recorder();

  // Calls the module. NotImplementedError names all calls that no operator stands for.
  Recording record(const tenon::Module& model, const std::vector<tenon::Tensor>& inputs);

  // ---- for rules ----
  ExportRules& rules() { return rules_; }
  // The place of a tensor among the values; a constant is added when it is first asked for.
  int64_t value_of(const tenon::Tensor& tensor);
  void add_node(const RecordedCall& call, std::string type, std::string domain,
                std::vector<int64_t> inputs, std::vector<WrittenAttribute> attributes,
                const std::vector<tenon::Tensor>& outputs);
  // The tensor in another dtype.
  tenon::Tensor cast(const RecordedCall& call, const tenon::Tensor& tensor, tenon::DType dtype);
  // Makes `result` another name of what `made` is. ValueError where it is not the same kind of tensor.
  void set_same(const RecordedCall& call, const tenon::Tensor& result, const tenon::Tensor& made);

 private:
  // Hears calls above autograd, and below it the ops that composites call.
  class Listener : public tenon::Mode {
   public:
    Listener(Recorder& recorder, bool inside)
        : Mode("onnx export"), recorder_(recorder), inside_(inside) {}
    tenon::Results tenon_function(const tenon::Call& call) override {
      return recorder_.hear(call, inside_);
    }

   private:
    Recorder& recorder_;
    bool inside_;
  };

  tenon::Results hear(const tenon::Call& call, bool inside);
  tenon::Results compute_constant(const tenon::Call& call);
  bool is_tracked(const tenon::Tensor& tensor) const {
    return tracked_.count(tensor.handle()) != 0;
  }
  void track(const tenon::Tensor& tensor, int64_t value);
  // Whether an operator or a rule stands for the call; it is recorded then.
  bool convert(const RecordedCall& call, std::string& reason);
  void refuse(const std::string& op, const std::string& reason);
  void enter(const tenon::Module& module);
  void leave(const tenon::Module& module, const std::vector<tenon::Tensor>& inputs,
             const std::vector<tenon::Tensor>& outputs);
  const std::string& place() const;

  ExportRules& rules_;
  Listener outside_{*this, false}, inside_{*this, true};
  Recording recording_;
  std::unordered_map<const tenon_tensor*, int64_t> tracked_;  // inputs and results, by handle
  std::unordered_map<const tenon_tensor*, int64_t> constants_;
  std::deque<tenon::Tensor> held_;  // keeps handles from being used again
  std::unordered_map<const tenon_module*, std::string> names_;
  std::vector<std::string> places_;
  std::vector<tenon::Hook> hooks_;
  std::map<std::string, std::vector<std::string>>
      refused_;    // places of each op that has no operator
  int quiet_ = 0;  // above 0: calls are not recorded
  int depth_ = 0;  // rules inside of each other
};

}  // namespace onnx
