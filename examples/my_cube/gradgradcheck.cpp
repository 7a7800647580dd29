// Checks first and second derivatives, of the right way and of the wrong one.
#include <cstdio>

#include <tenon/gradcheck.hpp>
#include <tenon/tenon.hpp>

int main() {
  tenon::add_plugin_path(PLUGIN_FOLDER);
  const tenon::Tensor x = tenon::tensor({1., 2., -3.}, tenon::f64).requires_grad_();
  for (const char* name : {"examples.my_cube", "examples.cube", "examples.cube_with_stash"}) {
    const tenon::Op cube(name);
    std::printf("%s\n  gradcheck: %s\n", name, tenon::gradcheck(cube, {x}) ? "True" : "False");
    try {
      std::printf("  gradgradcheck: %s\n", tenon::gradgradcheck(cube, {x}) ? "True" : "False");
    } catch (const tenon::Error& error) {
      std::printf("  gradgradcheck: %s\n", error.what());
    }
  }
}
