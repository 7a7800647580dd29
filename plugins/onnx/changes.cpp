// The op onnx.changes: where a model that is like another engine may give other answers.
#include <tenon/plugin.hpp>

#include "builder.hpp"

namespace {

struct Changes {
  static constexpr auto schema =
      "onnx.changes(str? path=None, *, str like, str[] prefer=[]) -> str[]";
  static constexpr auto doc =
      "The conversions that give the answers of an engine, a line for each; of the model at path "
      "the nodes that they convert, and their ops.";
  static constexpr auto samples = R"([{"like": "onnxruntime"}])";
  static std::vector<std::string> forward(std::optional<std::string_view> path,
                                          std::string_view like,
                                          const std::vector<std::string_view>& prefer) {
    onnx::Operators operators(prefer, like);
    if (!path) return operators.lines_of_engine();
    onnx::ModelFile file{std::string(*path)};
    std::vector<std::string> lines;
    for (const onnx::ChangedNode& one : onnx::build_model(file, operators, {}).changes)
      lines.push_back("'" + one.name + "' (" + one.type + "): " + one.op);
    return lines;
  }
};

}  // namespace
TENON_OP(Changes)
