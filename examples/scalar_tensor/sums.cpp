// Prints what ops make of ScalarTensors, and what they refuse.
#include <cstdio>
#include <string>

#include <tenon/tenon.hpp>

using tenon::Op, tenon::Tensor, tenon::arg;

template <class Call>
void show(Call&& call) {
  try {
    std::puts(tenon::text_of(call()).c_str());
  } catch (const tenon::TypeError& error) {
    std::printf("TypeError: %s\n", error.what());
  } catch (const tenon::ValueError& error) {
    std::printf("ValueError: %s\n", error.what());
  }
}

int main() {
  tenon::add_plugin_path(PLUGIN_FOLDER);
  const Op make("examples.scalar_tensor"), mean("mean"), add("add"), mul("mul");
  const Tensor d = make(5, 2).tensor();
  std::puts(d.text().c_str());
  std::puts(tenon::ensure_tensor(d).text().c_str());
  show([&] { return mean(d); });

  {
    // With its overrides switched off it is what any foreign object is.
    const tenon::OverrideDisabled no_mean(tenon::OverrideEntry("mean[ScalarTensor]"));
    const tenon::OverrideDisabled no_add(tenon::OverrideEntry("add[ScalarTensor]"));
    show([&] { return mean(d); });
  }

  const Tensor s = make(2, 2).tensor();
  const Tensor t = tenon::tensor({{1, 1}, {1, 1}});
  show([&] { return add(s, s); });
  show([&] { return add(s, t); });
  show([&] { return add(s, make(3, 2).tensor()); });
  show([&] { return add(s, s, arg("alpha") = 2); });
  show([&] { return mul(s, 3); });
  const Tensor converting = make(2, 2, true).tensor();
  show([&] { return mul(converting, converting); });
}
