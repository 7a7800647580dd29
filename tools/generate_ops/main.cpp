// Writes the typed wrappers of the bundled ops from their schemas, so that no signature is written
// twice.
//
//   generate_ops DIRECTORY           writes ops.hpp and ops_methods.inc into it
//   generate_ops --check DIRECTORY   fails when the files there are not what it would write
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/tenon.hpp>

namespace {

constexpr size_t kColumns = 100;

struct Parameter {
  std::string type;  // without alias marks
  std::string name;
  std::string default_text;
  bool has_default = false;
};

struct OpText {
  std::string name_space, name;
  std::vector<Parameter> parameters;
  std::string result;
  bool method = false;
};

std::string trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return std::string(text);
}

// "Tensor(a!)?" -> "Tensor?"
std::string without_marks(std::string_view type) {
  std::string plain;
  int depth = 0;
  for (const char c : type) {
    if (c == '(') ++depth;
    if (depth == 0) plain += c;
    if (c == ')') --depth;
  }
  return plain;
}

// Splits at commas outside of brackets and quotes.
std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  std::string part;
  int depth = 0;
  bool quoted = false;
  for (const char c : text) {
    if (c == '\'') quoted = !quoted;
    if (!quoted && (c == '(' || c == '[')) ++depth;
    if (!quoted && (c == ')' || c == ']')) --depth;
    if (c == ',' && depth == 0 && !quoted) {
      parts.push_back(trim(part));
      part.clear();
    } else {
      part += c;
    }
  }
  if (!trim(part).empty()) parts.push_back(trim(part));
  return parts;
}

size_t closing(std::string_view text, size_t open) {
  int depth = 0;
  bool quoted = false;
  for (size_t i = open; i < text.size(); ++i) {
    if (text[i] == '\'') quoted = !quoted;
    if (quoted) continue;
    if (text[i] == '(') ++depth;
    if (text[i] == ')' && --depth == 0) return i;
  }
  return text.size();
}

std::string result_type(std::string_view returns) {
  if (returns == "()") return "void";
  if (returns.front() == '(') {
    std::string types;
    for (const std::string& part : split(returns.substr(1, returns.size() - 2))) {
      types += (types.empty() ? "" : ", ") + result_type(part.substr(0, part.find(' ')));
    }
    return "std::tuple<" + types + ">";
  }
  static const std::map<std::string, std::string> types = {
      {"Tensor", "Tensor"}, {"Tensor[]", "std::vector<Tensor>"},
      {"int", "int64_t"},   {"float", "double"},
      {"bool", "bool"},     {"Scalar", "Scalar"}};
  const auto found = types.find(without_marks(returns));
  return found == types.end() ? "Value" : found->second;
}

// Lists, optional numbers and tensors-or-numbers travel as Argument, which takes them in every
// form.
std::string parameter_type(const Parameter& parameter) {
  static const std::map<std::string, std::string> types = {
      {"Tensor", "const Tensor&"},
      {"Tensor?", "const Tensor&"},
      {"Tensor[]", "const std::vector<Tensor>&"},
      {"Scalar", "const Scalar&"},
      {"int", "int64_t"},
      {"float", "double"},
      {"bool", "bool"},
      {"str", "std::string_view"},
      {"dtype", "DType"},
      {"dtype?", "DType"}};
  const auto found = types.find(parameter.type);
  return found == types.end() ? "const Argument&" : found->second;
}

std::string parameter_default(const Parameter& parameter) {
  const std::string& text = parameter.default_text;
  if (text == "None")
    return parameter.type == "Tensor?" ? "{}" : parameter.type == "dtype?" ? "DType::none" : "none";
  if (text == "True") return "true";
  if (text == "False") return "false";
  if (text.front() == '\'') return "\"" + text.substr(1, text.size() - 2) + "\"";
  return text;
}

OpText parse(std::string_view schema) {
  OpText op;
  const size_t open = schema.find('(');
  const std::string full(schema.substr(0, open));
  const size_t dot = full.rfind('.');
  op.name_space = dot == full.npos ? "" : full.substr(0, dot);
  op.name = dot == full.npos ? full : full.substr(dot + 1);
  const size_t close = closing(schema, open);
  for (const std::string& part : split(schema.substr(open + 1, close - open - 1))) {
    if (part == "*") continue;
    Parameter parameter;
    const size_t equals = part.find('=');
    const std::string head = part.substr(0, equals);
    parameter.has_default = equals != part.npos;
    if (parameter.has_default) parameter.default_text = part.substr(equals + 1);
    const size_t space = head.rfind(' ');
    parameter.type = without_marks(head.substr(0, space));
    parameter.name = head.substr(space + 1);
    op.parameters.push_back(parameter);
  }
  op.result = result_type(trim(schema.substr(schema.find("->", close) + 2)));
  return op;
}

// head + a, b, c + tail, over several lines where it is long.
std::string wrapped(const std::string& head, const std::vector<std::string>& items,
                    const std::string& tail) {
  std::string line = head, text;
  const std::string indent(std::min<size_t>(head.size(), 8), ' ');
  for (size_t i = 0; i < items.size(); ++i) {
    const std::string item = items[i] + (i + 1 < items.size() ? ", " : tail);
    if (line.size() + trim(item).size() > kColumns && !trim(line).empty()) {
      text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
      line = indent;
    }
    line += item;
  }
  return text + line + (items.empty() ? tail : "") + "\n";
}

std::vector<std::string> declarations(const OpText& op, size_t first, bool defaults) {
  size_t last_required = 0;
  for (size_t i = 0; i < op.parameters.size(); ++i) {
    if (!op.parameters[i].has_default) last_required = i + 1;
  }
  std::vector<std::string> list;
  for (size_t i = first; i < op.parameters.size(); ++i) {
    const Parameter& parameter = op.parameters[i];
    const bool optional = defaults && i >= last_required;
    list.push_back(parameter_type(parameter) + " " + parameter.name +
                   (optional ? " = " + parameter_default(parameter) : ""));
  }
  return list;
}

struct Files {
  std::string functions, methods;
};

Files generate(const std::vector<OpText>& ops) {
  std::string functions =
      "// Typed wrappers of the shipped ops. Generated from their schemas by tools/generate_ops: "
      "do not edit.\n"
      "#pragma once\n\n#include \"tenon/op.hpp\"\n\n// clang-format off\nTENON_NAMESPACE_BEGIN\n\n";
  std::string methods =
      "// Methods of the shipped ops, included into class Tensor. Generated by tools/generate_ops: "
      "do not edit.\n"
      "// clang-format off\n";
  std::string bodies, name_space;
  const auto cpp_namespace = [](std::string text) {
    for (size_t at = text.find('.'); at != text.npos; at = text.find('.'))
      text.replace(at, 1, "::");
    return text;
  };
  const auto close_namespace = [&] {
    if (!name_space.empty()) functions += "}  // namespace " + cpp_namespace(name_space) + "\n\n";
  };
  for (const OpText& op : ops) {
    if (op.name_space != name_space) {
      close_namespace();
      name_space = op.name_space;
      functions += "namespace " + cpp_namespace(name_space) + " {\n";
    }
    const std::string full = (op.name_space.empty() ? "" : op.name_space + ".") + op.name;
    functions +=
        wrapped("inline " + op.result + " " + op.name + "(", declarations(op, 0, true), ") {");
    functions += "  static const Op op(\"" + full + "\");\n";
    std::vector<std::string> values, names = {"*this"};
    for (const Parameter& parameter : op.parameters) {
      const bool is_argument = parameter_type(parameter) == "const Argument&";
      values.push_back(is_argument ? parameter.name + ".value()"
                                   : "Argument(" + parameter.name + ").value()");
    }
    functions += wrapped("  return detail::call_values<" + op.result + ", " +
                             std::to_string(op.parameters.size()) + ">(op.handle(), {",
                         values, "});");
    functions += "}\n";
    if (!op.method) continue;
    for (size_t i = 1; i < op.parameters.size(); ++i) names.push_back(op.parameters[i].name);
    methods +=
        wrapped("inline " + op.result + " " + op.name + "(", declarations(op, 1, true), ") const;");
    bodies += wrapped("inline " + op.result + " Tensor::" + op.name + "(",
                      declarations(op, 1, false), ") const {");
    bodies += wrapped("  return v1::" + op.name + "(", names, ");") + "}\n";
  }
  close_namespace();
  functions += "\n// ---- methods ----\n" + bodies + "\n// ---- operators: the same ops ----\n";
  const std::pair<const char*, const char*> operators[] = {{"+", "add"}, {"-", "sub"}, {"*", "mul"},
                                                           {"/", "div"}, {"<", "lt"},  {"<=", "le"},
                                                           {">", "gt"},  {">=", "ge"}};
  for (const auto& [symbol, op] : operators) {
    const std::string head = std::string("inline Tensor operator") + symbol;
    functions += head + "(const Tensor& a, const Argument& b) { return " + op + "(a, b); }\n";
    functions += head + "(const Scalar& a, const Tensor& b) { return " + op + "(a, b); }\n";
  }
  functions += "inline Tensor operator-(const Tensor& a) { return neg(a); }\n";
  for (size_t i = 0; i < 4; ++i) {
    functions += std::string("inline Tensor& operator") + operators[i].first +
                 "=(Tensor& a, const Argument& b) {\n  " + operators[i].second +
                 "_(a, b);\n  return a;\n}\n";
  }
  functions += "\nTENON_NAMESPACE_END\n// clang-format on\n";
  return {functions, methods};
}

std::vector<OpText> shipped_ops() {
  static const std::string_view shipped[] = {"math", "blas", "nn", "data"};
  std::vector<OpText> ops;
  const tenon::Tree listing = tenon::describe("ops");
  for (int64_t i = 0; i < listing.size(); ++i) {
    const std::string provider = listing[i]["provider"].text();
    if (std::find(std::begin(shipped), std::end(shipped), provider) == std::end(shipped)) continue;
    ops.push_back(parse(listing[i]["schema"].text()));
    ops.back().method = listing[i]["method"].truth();
  }
  std::sort(ops.begin(), ops.end(), [](const OpText& a, const OpText& b) {
    return a.name_space != b.name_space ? a.name_space < b.name_space : a.name < b.name;
  });
  return ops;
}

std::string read(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

}  // namespace

int main(int argc, char** argv) {
  const bool check = argc == 3 && std::string_view(argv[1]) == "--check";
  if (argc != 2 && !check) {
    std::fputs("usage: generate_ops [--check] DIRECTORY\n", stderr);
    return 2;
  }
  try {
    const std::string folder = argv[argc - 1];
    const Files files = generate(shipped_ops());
    const std::pair<std::string, std::string> outputs[] = {
        {folder + "/ops.hpp", files.functions}, {folder + "/ops_methods.inc", files.methods}};
    for (const auto& [path, text] : outputs) {
      if (check && read(path) != text) {
        std::fprintf(stderr, "%s is not what the schemas say: run tools/generate_ops\n",
                     path.c_str());
        return 1;
      }
      if (!check) tenon::write_file(path, text);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "generate_ops: %s\n", error.what());
    return 1;
  }
  return 0;
}
