// Functions of a model, and the versions of operators that a graph or function uses.
#pragma once

#include <map>
#include <tuple>

#include "messages.hpp"

namespace onnx {

// NotImplementedError for a format or an opset that Tenon does not read.
void check_versions(const ModelData& model);
// 0: the model does not say.
int64_t version_of(const std::vector<OperatorSet>& sets, std::string_view domain);
// A function's sets, with those around it for domains that it does not say.
std::vector<OperatorSet> sets_of(const Function& function, const std::vector<OperatorSet>& outer);

class Functions {
 public:
  explicit Functions(const ModelData& model);
  // The function that a node calls; null where its operator is not one.
  const Function* of(const Node& node) const;

 private:
  std::map<std::tuple<std::string_view, std::string_view, std::string_view>, const Function*>
      functions_;
};

// A level of functions and graphs that are inside of each other. ValueError where they are nested too deep: each
// takes stack.
class Level {
 public:
  explicit Level(int& depth);
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;
  ~Level() { --depth_; }

 private:
  int& depth_;
};

}  // namespace onnx
