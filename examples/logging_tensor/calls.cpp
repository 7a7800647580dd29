// Calls two ops on a LoggingTensor; its log goes to standard error.
#include <cstdio>

#include <tenon/tenon.hpp>

int main() {
  tenon::add_plugin_path(PLUGIN_FOLDER);
  const tenon::Op make("examples.logging_tensor");
  const tenon::Tensor x = make(tenon::tensor({1., 2.})).tensor();
  const tenon::Tensor y = tenon::sum(tenon::add(x, 1));
  std::puts(tenon::type_name(y).c_str());
  std::puts(y.text().c_str());
}
