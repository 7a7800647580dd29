// Prints the types of sums of subclasses of Tensor.
#include <cstdio>

#include <tenon/tenon.hpp>

using tenon::Tensor;

int main() {
  tenon::add_plugin_path(PLUGIN_FOLDER);
  const tenon::Op make("examples.sub_tensor");
  const Tensor zero = tenon::tensor({0}), one = tenon::tensor({1});
  const Tensor sub = make(zero).tensor(), sub_one = make(one).tensor();
  const Tensor sub2 = make(one, "SubTensor2").tensor();
  const auto show = [](const Tensor& sum) { std::puts(tenon::type_name(sum).c_str()); };
  show(tenon::add(sub, sub_one));
  show(tenon::add(sub, one));
  show(tenon::add(sub, sub2));
  show(tenon::add(sub2, one));
  try {
    tenon::add(sub, make(one, "OtherSubTensor").tensor());
  } catch (const tenon::TypeError& error) {
    std::printf("TypeError: %s\n", error.what());
  }
}
