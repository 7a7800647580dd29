// How ops are exported: conversions read backwards, and rules of export, of all plugins that can be used.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <tenon/op.hpp>

#include "export/export_rule.hpp"
#include "operators.hpp"

namespace onnx {

// Parameters of an op, as its schema has them.
struct OpParameter {
  std::string name;
  std::string kind;  // "Tensor", "int", ...
  bool list = false;
  bool tensor = false;   // takes tensors
  bool scalar = false;   // takes tensors and numbers
  bool mutates = false;  // changes the operand
  tenon::Json fallback;  // undefined: the argument is required
};
struct OpSignature {
  std::vector<OpParameter> parameters;

  // -1 where there is none.
  int64_t place_of(std::string_view name) const;
};

// An operator that stands for calls of an op.
struct Inverse {
  const Rule* rule = nullptr;
  int64_t version = 0;  // version of the operator's domain
};

class ExportRules {
 public:
  explicit ExportRules(int64_t opset);

  int64_t opset() const { return opset_; }
  // Operators whose conversions call the op, the newest first.
  const std::vector<Inverse>& inverses(const std::string& op) const;
  // Rules of export of the op, in the order of plugins and lines. ValueError for one that cannot be read.
  const std::vector<ExportRule>& rules(const std::string& op);
  const OpSignature& signature(const tenon::Op& op);
  // The version that a domain is written with.
  int64_t version_of(std::string_view domain) const;

 private:
  int64_t opset_;
  Operators operators_;
  std::map<std::string, std::vector<Inverse>> inverses_;
  std::map<std::string, std::vector<std::string>> lines_;
  std::map<std::string, std::vector<ExportRule>> rules_;
  std::map<std::string, OpSignature> signatures_;
};

}  // namespace onnx
