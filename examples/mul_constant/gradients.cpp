// Prints values and gradients of both forms, also where no gradient arrives.
#include <cstdio>

#include <tenon/tenon.hpp>

using tenon::Tensor;

void show(const char* what, const Tensor& tensor) {
  std::printf("%s: %s\n", what, tensor.defined() ? tensor.text().c_str() : "None");
}

int main() {
  tenon::add_plugin_path(PLUGIN_FOLDER);
  for (const char* name : {"examples.mul_constant", "examples.mul_constant_lazy"}) {
    const tenon::Op mul_constant(name);
    std::puts(name);

    Tensor x = tenon::tensor({1., 2.}).requires_grad_();
    const auto y = mul_constant.call<Tensor>(x, 5.5);
    show("  value", y.detach());
    y.sum().backward();
    show("  gradient", x.grad());

    // An op that overwrites y passes no gradient on to it.
    x.set_grad({});
    const auto overwritten = mul_constant.call<Tensor>(x, 5.5);
    overwritten.zero_();
    overwritten.sum().backward();
    show("  gradient when none arrives", x.grad());
  }
}
