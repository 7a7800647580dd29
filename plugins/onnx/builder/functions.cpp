#include "functions.hpp"

#include <algorithm>
#include <string>

#include <tenon/error.hpp>

namespace onnx {

namespace {

constexpr int64_t kLastVersion = 25, kLastIrVersion = 13;
constexpr int kMostDepth = 100;

void check_version(const OperatorSet& set) {
  if (!set.domain.empty() || (set.version >= 1 && set.version <= kLastVersion)) return;
  throw tenon::NotImplementedError("it uses opset " + std::to_string(set.version) +
                                   "; Tenon reads those up to " + std::to_string(kLastVersion) +
                                   ": convert it with onnx.version_converter");
}

}  // namespace

void check_versions(const ModelData& model) {
  if (model.ir_version < 3 || model.ir_version > kLastIrVersion) {
    throw tenon::NotImplementedError("it is of version " + std::to_string(model.ir_version) +
                                     " of the format; Tenon reads 3 to " +
                                     std::to_string(kLastIrVersion));
  }
  if (model.operator_sets.empty())
    throw tenon::ValueError("it does not say which versions of operators it uses");
  for (const OperatorSet& set : model.operator_sets) check_version(set);
}

int64_t version_of(const std::vector<OperatorSet>& sets, std::string_view domain) {
  int64_t version = 0;
  for (const OperatorSet& set : sets) {
    if (set.domain == domain) version = std::max(version, set.version);
  }
  return version;
}

std::vector<OperatorSet> sets_of(const Function& function, const std::vector<OperatorSet>& outer) {
  for (const OperatorSet& set : function.operator_sets) check_version(set);
  std::vector<OperatorSet> sets = function.operator_sets;
  for (const OperatorSet& set : outer) {
    if (version_of(sets, set.domain) == 0) sets.push_back(set);
  }
  return sets;
}

Functions::Functions(const ModelData& model) {
  for (const Function& one : model.functions)
    functions_[{one.domain, one.name, one.overload}] = &one;
}

const Function* Functions::of(const Node& node) const {
  const auto found = functions_.find({node.domain, node.type, node.overload});
  return found == functions_.end() ? nullptr : found->second;
}

Level::Level(int& depth) : depth_(depth) {
  if (depth_ >= kMostDepth)
    throw tenon::ValueError("its functions and graphs are nested deeper than " +
                            std::to_string(kMostDepth));
  ++depth_;
}

}  // namespace onnx
