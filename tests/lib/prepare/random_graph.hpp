// Random graphs of at least twenty ops, as documents.
#pragma once

#include <random>
#include <string>
#include <vector>

namespace preparing {

// Nodes over two inputs of the sizes [rows, 4] and [4]: elementwise ops, views, ops in place on inputs
// and on intermediate values, constants, nodes that several read and that none reads.
class RandomGraph {
 public:
  explicit RandomGraph(unsigned seed, int64_t rows) : random_(seed), rows_(rows) {
    add_value("a", {rows, 4});
    add_value("b", {4});
    const int nodes = 20 + pick(20);
    for (int i = 0; i < nodes; ++i) add_node();
  }
  std::string document() {
    std::string outputs;
    const int count = 1 + pick(3);
    for (int i = 0; i < count; ++i)
      outputs +=
          (i == 0 ? "\"" : ", \"") + values_[static_cast<size_t>(pick_from(values_))].name + "\"";
    return R"({"type": "Graph", "inputs": ["a", "b"], "nodes": {)" + nodes_ + R"(}, "outputs": [)" +
           outputs + "]}";
  }

 private:
  struct One {
    std::string name;
    std::vector<int64_t> shape;
  };
  int pick(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }
  template <class List>
  int pick_from(const List& list) {
    return pick(static_cast<int>(list.size()));
  }
  void add_value(std::string name, std::vector<int64_t> shape) {
    values_.push_back({std::move(name), std::move(shape)});
  }
  const One& any() { return values_[static_cast<size_t>(pick_from(values_))]; }
  // A value of the shape, besides `other` where there is one.
  std::string like(const std::vector<int64_t>& shape) {
    std::vector<const One*> fitting;
    for (const One& one : values_) {
      if (one.shape == shape) fitting.push_back(&one);
    }
    return fitting[static_cast<size_t>(pick_from(fitting))]->name;
  }
  void node(const std::string& op, const std::vector<std::string>& inputs,
            std::vector<int64_t> shape, const std::string& attributes = "") {
    const std::string name = "n" + std::to_string(values_.size());
    nodes_ += (nodes_.empty() ? "\"" : ", \"") + name + R"(": {"op": ")" + op + R"(", "inputs": [)";
    for (size_t i = 0; i < inputs.size(); ++i)
      nodes_ += (i == 0 ? "\"" : ", \"") + inputs[i] + "\"";
    nodes_ += "]" + attributes + "}";
    add_value(name, std::move(shape));
  }
  void add_node() {
    const One one = any();
    const std::vector<int64_t>& shape = one.shape;
    static const char* const unary[] = {"tanh", "relu", "neg", "sigmoid", "abs", "exp"};
    static const char* const binary[] = {"add", "mul", "sub", "maximum"};
    static const char* const changing[] = {"relu_", "neg_", "tanh_"};
    switch (pick(11)) {
      case 10:  // kernels that make their results
        return node("cumsum", {one.name}, shape, R"(, "dim": 0)");
      case 0:
      case 1:
      case 2:
        return node(unary[pick(6)], {one.name}, shape);
      case 3:
      case 4:
        return node(binary[pick(4)], {one.name, like(shape)}, shape);
      case 5:  // broadcast
        return shape == std::vector<int64_t>{rows_, 4} ? node("add", {one.name, "b"}, shape)
                                                       : node("mul", {one.name, one.name}, shape);
      case 6:
        return node(changing[pick(3)], {one.name}, shape);
      case 7:
        return node("add_", {one.name, like(shape)}, shape);
      case 8:
        if (shape.size() == 2)
          return node("transpose", {one.name}, {shape[1], shape[0]}, R"(, "dim0": 0, "dim1": 1)");
        return node("unsqueeze", {one.name}, {1, shape[0]}, R"(, "dim": 0)");
      default:
        if (shape.size() == 2 && shape[0] > 0)
          return node("select", {one.name}, {shape[1]}, R"(, "dim": 0, "index": 0)");
        return node("nn.functional.softmax", {one.name}, shape, R"(, "dim": 0)");
    }
  }

  std::mt19937 random_;
  const int64_t rows_;
  std::vector<One> values_;
  std::string nodes_;
};

}  // namespace preparing
