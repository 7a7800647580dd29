// Checks first and second derivatives, of the right way and of the wrong one.
#include <cstdio>

#include <tenon/gradcheck.hpp>
#include <tenon/tenon.hpp>

int main() {
  tenon::add_plugin_path(PLUGIN_FOLDER);
  const tenon::Tensor x = tenon::tensor({1., 2., -3.}, tenon::f64).requires_grad_();
  tenon::GradcheckOptions options;
  options.raise_exception = false;
  for (const char* name : {"examples.my_cube", "examples.cube", "examples.cube_with_stash"}) {
    const tenon::Op cube(name);
    std::printf("%s: gradcheck %s, gradgradcheck %s\n", name,
                tenon::gradcheck(cube, {x}, options) ? "True" : "False",
                tenon::gradgradcheck(cube, {x}, options) ? "True" : "False");
  }
}
