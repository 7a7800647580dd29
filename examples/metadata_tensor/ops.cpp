// Prints a sum and a product of a plain tensor and one with metadata.
#include <cstdio>

#include <tenon/tenon.hpp>

int main() {
  tenon::add_plugin_path(PLUGIN_FOLDER);
  const tenon::Op make("examples.metadata_tensor");
  const tenon::Tensor m =
      make(tenon::tensor({{1, 2}, {3, 4}}), "{'owner': 'Ministry of Silly Walks'}").tensor();
  const tenon::Tensor t = tenon::tensor({{1, 2}, {1, 2}});
  std::puts(tenon::add(t, m).text().c_str());
  std::puts(tenon::mul(t, m).text().c_str());
}
