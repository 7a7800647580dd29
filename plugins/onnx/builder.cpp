#include "builder.hpp"

#include "builder/graph_builder.hpp"

namespace onnx {

BuiltModel build_model(ModelFile& file, Operators& operators,
                       const std::vector<std::string_view>& outputs) {
  BuiltModel built;
  GraphBuilder(file, operators, built).build(outputs);
  return built;
}

}  // namespace onnx
