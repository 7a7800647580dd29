// The graph of an onnx.Model as it is in its file, with the weights that the module has now.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <tenon/module.hpp>

#include "export/graph.hpp"
#include "operators.hpp"

namespace onnx {

class SourceGraph {
 public:
  // Reads the module's file again. ValueError where it is not the one that the module was made of.
  explicit SourceGraph(const tenon::Module& model);

  // Versions of the domains that its operators are of.
  const std::map<std::string, int64_t>& versions() const { return versions_; }
  // Bytes of its functions.
  const std::vector<std::string>& functions() const { return functions_; }
  // NotImplementedError names the operators that differ between the version of the file and this one.
  void require_version(int64_t opset) const;

  // The whole model, in its own words: names, metadata, inputs and outputs. `opset` 0: that of the file.
  std::string model_bytes(int64_t opset, Initializers& weights) const;

  // Its nodes and initializers for another graph: each name behind a prefix, inputs and outputs of these names.
  struct Part {
    std::vector<std::string> nodes, initializers;
  };
  Part part(const std::string& prefix, const std::vector<std::string>& inputs,
            const std::vector<std::string>& outputs, Initializers& weights) const;

 private:
  std::string graph_bytes(Initializers& weights) const;
  std::string initializer_bytes(std::string_view tensor, Initializers& weights) const;
  bool is_replaced(std::string_view node) const;

  std::string path_;
  std::shared_ptr<class ModelFile> file_;
  std::string_view graph_;
  std::map<std::string, tenon::Tensor, std::less<>>
      changed_;  // weights, by their names in the file
  std::map<std::string, int64_t> versions_;
  std::vector<std::string> functions_;
  std::vector<std::string> inputs_, outputs_;  // names; the outputs that the module computes
  std::string_view bytes_;
};

}  // namespace onnx
