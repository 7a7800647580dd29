// Each row of the reference page about gradients where a function has none.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "compare.hpp"

using namespace compare;
using tenon::f64;

namespace {

struct Row {
  std::string op;
  std::vector<Tensor> operands;
  std::vector<std::pair<std::string, std::string>> keywords;
  std::vector<std::vector<double>> gradient, of_gradient;
};

std::string trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(" `"), end = text.find_last_not_of(" `");
  return begin == std::string::npos ? "" : text.substr(begin, end - begin + 1);
}
std::vector<std::string> split(const std::string& text, char delimiter) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char c : text) {
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (c == delimiter && depth == 0)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  for (std::string& part : parts) part = trimmed(part);
  return parts;
}
std::vector<double> numbers_in(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == ',' || c == '[' || c == ']'; }, ' ');
  std::vector<double> numbers;
  std::istringstream words(text);
  for (std::string word; words >> word;) numbers.push_back(std::strtod(word.c_str(), nullptr));
  return numbers;
}
std::vector<std::vector<double>> by_operand(const std::string& cell) {
  std::vector<std::vector<double>> list;
  for (const std::string& part : split(cell, ';')) list.push_back(numbers_in(part));
  return list;
}

Row parse(const std::string& line) {
  const std::vector<std::string> cells = split(line, '|');  // the first and the last are empty
  REQUIRE(cells.size() == 5);
  const std::string& call = cells[1];
  const size_t open = call.find('(');
  Row row;
  row.op = call.substr(0, open);
  for (const std::string& argument : split(call.substr(open + 1, call.size() - open - 2), ',')) {
    const size_t equals = argument.find('=');
    if (equals != std::string::npos) {
      row.keywords.emplace_back(argument.substr(0, equals), argument.substr(equals + 1));
      continue;
    }
    const std::vector<double> values = numbers_in(argument);
    Tensor operand = argument[0] == '[' ? tenon::from_range(values.begin(), values.end())
                                        : tenon::full({}, values[0], f64);
    row.operands.push_back(operand.requires_grad_());
  }
  row.gradient = by_operand(cells[2]);
  row.of_gradient = by_operand(cells[3]);
  return row;
}

Tensor called(const Row& row) {
  std::vector<tenon_value> values, named;
  std::vector<tenon_string> names;
  std::vector<std::string> texts;
  texts.reserve(row.keywords.size());
  for (const Tensor& operand : row.operands) values.push_back(tenon::Argument(operand).value());
  for (const auto& [name, text] : row.keywords) {
    names.push_back({name.data(), static_cast<int64_t>(name.size())});
    if (text[0] == '"') {
      texts.push_back(text.substr(1, text.size() - 2));
      named.push_back(tenon::Argument(texts.back()).value());
    } else if (text.find_first_not_of("-0123456789") == std::string::npos) {
      named.push_back(tenon::Argument(int64_t{std::atoll(text.c_str())}).value());
    } else {
      named.push_back(tenon::Argument(std::strtod(text.c_str(), nullptr)).value());
    }
  }
  tenon_value results[tenon::detail::max_results] = {};
  tenon::detail::check(tenon::service::ops().call_keywords, tenon::Op(row.op).handle(),
                       values.data(), static_cast<int64_t>(values.size()), names.data(),
                       named.data(), static_cast<int64_t>(named.size()), results);
  return tenon::Value(results[0]).tensor();
}

std::vector<Row> rows() {
  std::ifstream page(TENON_CHOSEN_GRADIENTS);
  std::vector<Row> list;
  for (std::string line; std::getline(page, line);)
    if (line.rfind("| `", 0) == 0) list.push_back(parse(line));
  return list;
}

void check(const std::vector<Tensor>& found, const std::vector<std::vector<double>>& expected,
           const Row& row) {
  REQUIRE(expected.size() == found.size());
  for (size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i);
    const Tensor gradient =
        found[i].defined() ? found[i].detach() : zeros_like(row.operands[i].detach());
    CHECK(gradient.flatten().to_vector<double>() == expected[i]);
  }
}

}  // namespace

TEST_SUITE("plugins/chosen_gradients") {
  TEST_CASE("gradients where a function has none are those of the reference page") {
    const std::vector<Row> list = rows();
    CHECK(list.size() > 40);
    tenon::GradientOptions graph;
    graph.create_graph = true;
    graph.allow_unused = true;
    for (const Row& row : list) {
      CAPTURE(row.op);
      const std::vector<Tensor> first = tenon::gradients({called(row).sum()}, row.operands, graph);
      check(first, row.gradient, row);
      Tensor sum;
      for (const Tensor& gradient : first) {
        if (!gradient.defined() || !gradient.requires_grad()) continue;
        sum = sum.defined() ? sum + gradient.sum() : gradient.sum();
      }
      check(sum.defined() ? tenon::gradients({sum}, row.operands, graph)
                          : std::vector<Tensor>(row.operands.size()),
            row.of_gradient, row);
    }
  }

  TEST_CASE("what is shown of an op with such a gradient speaks of it") {
    const tenon::Json ops = tenon::listing::ops();
    for (const Row& row : rows()) {
      CAPTURE(row.op);
      bool speaks = false;
      for (int64_t i = 0; i < ops.size(); ++i) {
        if (ops[i]["name"].text() == row.op)
          speaks = std::string(ops[i]["doc"].text()).find("gradient") != std::string::npos;
      }
      CHECK(speaks);
    }
  }
}
