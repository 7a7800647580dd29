// Prints the product of objects of two types, before and after the plugin that joins them is there.
#include <cstdio>
#include <string>

#include <tenon/config/config.hpp>
#include <tenon/tenon.hpp>

using tenon::Op, tenon::Tensor;

int main() {
  tenon::add_plugin_path(SCALAR_TENSOR_FOLDER);
  tenon::add_plugin_path(METADATA_TENSOR_FOLDER);
  const Tensor scalar = Op("examples.scalar_tensor")(2, 3).tensor();
  const Tensor data = tenon::tensor({{1, 2}, {3, 4}});
  const Tensor metadata = Op("examples.metadata_tensor")(data, "{'unit': 'm'}").tensor();
  const Op mul("mul");
  try {
    mul(scalar, metadata);
  } catch (const tenon::TypeError& error) {
    std::printf("TypeError: %s\n", error.what());
  }

  tenon::add_plugin_path(GLUE_FOLDER);
  tenon::config::apply(tenon::config::read(CONFIG));
  std::puts(tenon::text_of(mul(scalar, metadata)).c_str());
  const tenon::Json answer = tenon::explain(mul, scalar, metadata)["answer"];
  std::printf("%s, plugin %s\n", answer["what"].text().c_str(), answer["provider"].text().c_str());
}
