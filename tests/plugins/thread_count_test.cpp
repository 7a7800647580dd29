// The bits of a result do not depend on how many threads compute it.
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "compare.hpp"
#include "random_inputs.hpp"

using namespace tenon;

namespace {

using random_inputs::Draw;
using Sizes = std::vector<int64_t>;
// Computes with inputs that were drawn once, from detached leaves: results and gradients.
using Computation = std::function<std::vector<Tensor>()>;

class ThreadCount {
 public:
  ThreadCount() : before_(thread_count()) {}
  ~ThreadCount() { set_thread_count(before_); }
  ThreadCount(const ThreadCount&) = delete;
  ThreadCount& operator=(const ThreadCount&) = delete;

 private:
  int32_t before_;
};

std::string bits(const std::vector<Tensor>& tensors) {
  std::string text;
  for (const Tensor& tensor : tensors) {
    const Tensor whole = tensor.detach().contiguous();
    text.append(static_cast<const char*>(whole.view_record().data),
                static_cast<size_t>(whole.numel() * element_size(whole.dtype())));
  }
  return text;
}

// A result and the gradients of the sum of its squares.
template <class Function>
Computation with_gradients(std::vector<Tensor> inputs, Function function) {
  return [inputs = std::move(inputs), function] {
    std::vector<Tensor> leaves;
    for (const Tensor& input : inputs) leaves.push_back(input.detach().requires_grad_());
    const Tensor result = function(leaves);
    (result * result).sum().backward();
    std::vector<Tensor> all = {result};
    for (const Tensor& leaf : leaves) all.push_back(leaf.grad());
    return all;
  };
}

class Calls {
 public:
  explicit Calls(uint64_t seed) : draw_(seed) {}

  // Sizes around the borders of blocks, registers and pieces.
  int64_t size() {
    return draw_.of(Sizes{1,   3,   8,   16,  17,  31,  48,  64,  65,  97,  128,
                          129, 200, 255, 256, 257, 300, 511, 512, 513, 784, 1000});
  }
  int64_t small() { return draw_.between(1, 24); }
  DType dtype() { return draw_.chance(30) ? f64 : f32; }
  // Row-major, column-major, or with gaps between rows.
  Tensor matrix(int64_t rows, int64_t columns, DType type) {
    if (draw_.chance(30)) return randn({columns, rows}, type).t();
    if (draw_.chance(30)) return narrow(randn({rows, columns + 3}, type), 1, 1, columns);
    return randn({rows, columns}, type);
  }
  const std::map<std::string, std::function<Computation()>>& makers() const { return makers_; }

 private:
  std::map<std::string, std::function<Computation()>> make();
  void add_products(std::map<std::string, std::function<Computation()>>& all);
  void add_layers(std::map<std::string, std::function<Computation()>>& all);
  void add_tables(std::map<std::string, std::function<Computation()>>& all);

  Draw draw_;
  std::map<std::string, std::function<Computation()>> makers_ = make();
};

std::map<std::string, std::function<Computation()>> Calls::make() {
  std::map<std::string, std::function<Computation()>> all;
  add_products(all);
  add_layers(all);
  add_tables(all);
  return all;
}

void Calls::add_products(std::map<std::string, std::function<Computation()>>& all) {
  all["addmm"] = [this] {
    const DType type = dtype();
    const int64_t m = size(), k = size(), n = size();
    return with_gradients({randn({n}, type), matrix(m, k, type), matrix(k, n, type)},
                          [](const auto& x) { return addmm(x[0], x[1], x[2]); });
  };
  all["bmm"] = [this] {
    const DType type = dtype();
    const int64_t batch = small(), m = size() / 3 + 1, k = size() / 3 + 1, n = size() / 3 + 1;
    return with_gradients({randn({batch, m, k}, type), randn({batch, k, n}, type)},
                          [](const auto& x) { return bmm(x[0], x[1]); });
  };
  all["mv"] = [this] {
    const DType type = dtype();
    const int64_t m = size() * 8, k = size() * 2;
    return with_gradients({matrix(m, k, type), randn({k}, type)},
                          [](const auto& x) { return mv(x[0], x[1]); });
  };
  all["dot"] = [this] {
    const DType type = dtype();
    const int64_t n = size() * 1000;
    return with_gradients({randn({n}, type), randn({n}, type)},
                          [](const auto& x) { return dot(x[0], x[1]); });
  };
  all["einsum"] = [this] {
    const int64_t batch = small(), m = size() / 3 + 1, k = size() / 3 + 1, n = size() / 3 + 1;
    return with_gradients({randn({batch, m, k}), randn({batch, n, k})}, [](const auto& x) {
      return einsum("bik,bjk->bij", {x[0], x[1]});
    });
  };
}

void Calls::add_layers(std::map<std::string, std::function<Computation()>>& all) {
  namespace functional = nn::functional;
  all["linear"] = [this] {
    const int64_t rows = size(), in = size(), out = size();
    return with_gradients({randn({rows, in}), randn({out, in}), randn({out})},
                          [](const auto& x) { return functional::linear(x[0], x[1], x[2]); });
  };
  all["conv1d"] = [this] {
    const int64_t in = small(), out = small(), kernel = draw_.between(1, 5);
    return with_gradients({randn({small(), in, 64}), randn({out, in, kernel}), randn({out})},
                          [](const auto& x) { return functional::conv1d(x[0], x[1], x[2]); });
  };
  all["conv2d"] = [this] {
    const int64_t in = small(), out = small(), kernel = draw_.between(1, 5), side = 5 + small();
    return with_gradients(
        {randn({small(), in, side, side}), randn({out, in, kernel, kernel}), randn({out})},
        [](const auto& x) { return functional::conv2d(x[0], x[1], x[2]); });
  };
  all["layer_norm"] = [this] {
    const int64_t rows = size() * 4, n = size();
    return with_gradients({randn({rows, n}), randn({n}), randn({n})}, [n](const auto& x) {
      return functional::layer_norm(x[0], {n}, x[1], x[2]);
    });
  };
  all["batch_norm"] = [this] {
    const int64_t channels = small(), side = small();
    return with_gradients(
        {randn({1 + small(), channels, side, side}), randn({channels}), randn({channels})},
        [](const auto& x) { return functional::batch_norm(x[0], none, none, x[1], x[2], true); });
  };
  all["embedding"] = [this] {
    const Tensor index = randint(0, 500, {size() * 8});
    return with_gradients({randn({500, size()})},
                          [index](const auto& x) { return functional::embedding(index, x[0]); });
  };
  all["max_pool2d"] = [this] {
    const int64_t side = 4 + small();
    return with_gradients({randn({small(), small(), side, side})}, [](const auto& x) {
      return functional::max_pool2d(x[0], {2, 2});
    });
  };
  all["cross_entropy"] = [this] {
    const int64_t rows = size() * 16, classes = size();
    const Tensor target = randint(0, classes, {rows});
    return with_gradients({randn({rows, classes})}, [target](const auto& x) {
      return functional::cross_entropy(x[0], target);
    });
  };
}

void Calls::add_tables(std::map<std::string, std::function<Computation()>>& all) {
  namespace functional = nn::functional;
  using Unary = Tensor (*)(const Tensor&);
  const std::pair<const char*, Unary> unary[] = {
    {"exp", [](const Tensor& x) { return exp(x); }},
    {"exp of columns", [](const Tensor& x) { return exp(x.t()); }},
    {"tanh", [](const Tensor& x) { return tanh(x); }},
    {"gelu", [](const Tensor& x) { return functional::gelu(x); }},
    {"softmax", [](const Tensor& x) { return functional::softmax(x, 1); }},
    {"softmax of columns", [](const Tensor& x) { return functional::softmax(x, 0); }},
#if !defined(__SANITIZE_THREAD__)  // it keeps some loops from being vectorized
    {"log_softmax", [](const Tensor& x) { return functional::log_softmax(x, 1); }},
#endif
    {"logsumexp", [](const Tensor& x) { return logsumexp(x, {1}); }},
    {"logsumexp of columns", [](const Tensor& x) { return logsumexp(x, {0}); }},
    {"sum of columns", [](const Tensor& x) { return sum(x, {0}); }},
    {"sum of rows", [](const Tensor& x) { return sum(x, {1}); }},
    {"mean", [](const Tensor& x) { return mean(x); }},
    {"var of columns", [](const Tensor& x) { return var(x, {0}); }},
    {"cumsum", [](const Tensor& x) { return cumsum(x, 0); }},
    {"norm", [](const Tensor& x) { return norm(x); }}
  };
  for (const auto& [name, function] : unary) {
    all[name] = [this, function = function] {
      return with_gradients({randn({size() * 8, size()})},
                            [function](const auto& x) { return function(x[0]); });
    };
  }
}

}  // namespace

TEST_SUITE("plugins/thread_count") {
  TEST_CASE("one, two and three threads give the same bits, forward and backward") {
    const ThreadCount restored;
    Calls calls(7);
    for (const auto& maker : calls.makers()) {
      const auto& name = maker.first;
      const auto& make = maker.second;
      CAPTURE(name);
      for (int round = 0; round < 5; ++round) {
        CAPTURE(round);
        const Computation call = make();
        set_thread_count(1);
        const std::string expected = bits(call());
        for (const int32_t threads : {2, 3}) {
          CAPTURE(threads);
          set_thread_count(threads);
          CHECK((bits(call()) == expected));
        }
      }
    }
  }

#if !defined(__SANITIZE_THREAD__)  // see log_softmax above
  // A row's exp is that of a whole register wherever the row is.
  TEST_CASE("softmax of a row is the same among other rows") {
    for (const int64_t n : {1, 3, 33, 100, 1000, 1025, 3000}) {
      CAPTURE(n);
      const Tensor rows = randn({40, n}), together = nn::functional::softmax(rows, 1);
      for (int64_t r = 0; r < 40; ++r) {
        const Tensor one = nn::functional::softmax(narrow(rows, 0, r, 1), 1);
        CHECK((bits({one}) == bits({narrow(together, 0, r, 1)})));
      }
    }
  }
#endif
}
