// Prints what can be overridden, and what stands in for an op in a test.
#include <cstdio>
#include <string>

#include <tenon/tenon.hpp>

int main() {
  tenon::add_plugin_path(PLUGIN_FOLDER);
  const auto functions = tenon::get_overridable_functions();
  const std::vector<std::string>& names = functions.at("nn.functional");
  // Breaks the line after the third.
  for (size_t i = 0; i < 5; ++i)
    std::printf("%s'%s'%s", i == 0 ? "[" : "", names[i].c_str(),
                i == 4   ? "]\n"
                : i == 2 ? ",\n"
                         : ", ");

  const auto overrides = tenon::get_testing_overrides();
  const tenon::TestingOverride& dummy_add = overrides.at("examples.add");
  std::puts(dummy_add.text().c_str());
  const tenon::Tensor x = tenon::ones({2});
  std::printf("%lld\n", static_cast<long long>(dummy_add(x, x)));
  try {
    dummy_add(x);
  } catch (const tenon::TypeError& error) {
    std::puts(error.what());
  }

  const auto ignored = tenon::get_ignored_functions();
  std::printf("randperm: %s\n", ignored.at("randperm").c_str());
}
