// Writes wrappers: schemas of facts as C++ parameters, defaults and documentation.
#include "wrappers.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/runtime.hpp>

namespace wrappers {

namespace {

using tenon::Json;
using Words = std::vector<std::string>;

constexpr size_t kColumns = 100;

// A C++ type of a parameter or result, by the schema's; what is not listed travels as Argument and
// Value, which are of any kind.
using TypeTable = std::map<std::string, std::string, std::less<>>;
const TypeTable kParameterTypes = {{"Tensor", "const Tensor&"},
                                   {"Tensor?", "const Tensor&"},
                                   {"Tensor[]", "const std::vector<Tensor>&"},
                                   {"Scalar", "const Scalar&"},
                                   {"int", "int64_t"},
                                   {"float", "double"},
                                   {"bool", "bool"},
                                   {"str", "std::string_view"},
                                   {"dtype", "DType"},
                                   {"dtype?", "DType"}};
// Functions that make a value of a parameter that is not an Argument: see tenon/tensor.hpp.
const TypeTable kValueFunctions = {{"const Tensor&", "tensor_value"},
                                   {"int64_t", "int_value"},
                                   {"double", "float_value"},
                                   {"bool", "bool_value"},
                                   {"DType", "dtype_value"}};
const TypeTable kResultTypes = {{"Tensor", "Tensor"},
                                {"Tensor?", "Tensor"},
                                {"Tensor[]", "std::vector<Tensor>"},
                                {"Scalar", "Scalar"},
                                {"int", "int64_t"},
                                {"int[]", "std::vector<int64_t>"},
                                {"float", "double"},
                                {"float[]", "std::vector<double>"},
                                {"bool", "bool"},
                                {"str", "std::string"},
                                {"str[]", "std::vector<std::string>"},
                                {"dtype", "DType"}};

// "Tensor(a!)?" -> "Tensor?"
std::string without_alias(std::string type) {
  if (const size_t open = type.find('('); open != type.npos)
    type.erase(open, type.find(')') - open + 1);
  return type;
}

std::string type_of(const TypeTable& types, const std::string& schema, const char* any) {
  const auto found = types.find(schema);
  return found == types.end() ? any : found->second;
}

constexpr std::array<std::string_view, 94> kKeywords = {
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "asm",
    "auto",
    "bitand",
    "bitor",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "char16_t",
    "char32_t",
    "char8_t",
    "class",
    "co_await",
    "co_return",
    "co_yield",
    "compl",
    "concept",
    "const",
    "const_cast",
    "consteval",
    "constexpr",
    "constinit",
    "continue",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dynamic_cast",
    "else",
    "enum",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "register",
    "reinterpret_cast",
    "requires",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "static_assert",
    "static_cast",
    "struct",
    "switch",
    "template",
    "this",
    "thread_local",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "wchar_t",
    "while",
    "xor",
    "xor_eq",  // and the local variables of each function:
    "op",
    "given"};

std::string identifier(const std::string& name) {
  const bool taken = std::find(kKeywords.begin(), kKeywords.end(), name) != kKeywords.end();
  return taken ? name + "_" : name;
}

struct Parameter {
  std::string name;
  std::string type;
  std::string default_value;  // as C++ writes it; empty: none
};

struct Function {
  std::string full_name;
  std::string name_space;  // as C++ writes it: nn::functional
  std::string name;
  std::string result;
  std::vector<Parameter> parameters;
  bool method = false;
};

// "[1, 'a, b']" -> {"1", "'a, b'"}
Words items_of(std::string_view list) {
  Words items;
  std::string item;
  char quote = 0;
  for (size_t i = 1; i < list.size(); ++i) {
    const char c = list[i];
    if (quote == 0 && (c == ',' || c == ']')) {
      if (!item.empty()) items.push_back(std::move(item));
      item.clear();
    } else if (quote != 0 || c != ' ') {
      item += c;
    }
    if (quote != 0 && c == '\\')
      item += list[++i];
    else if (c == '\'')
      quote = quote == 0 ? c : '\0';
  }
  return items;
}

std::string default_of(const std::string& type, const std::string& text);

// A list that an Argument is made of.
std::string default_list(const std::string& element, const Words& given) {
  const auto array_of = [&](const char* type) {
    return "std::array<" + std::string(type) + ", " + std::to_string(given.size()) + ">{";
  };
  const auto all = [&](auto&& fits) { return std::all_of(given.begin(), given.end(), fits); };
  const bool numbers = element == "float" || element == "Scalar";
  std::string head = "std::vector<int64_t>{", before, behind;
  if (element == "str") {
    head = array_of("tenon_string");
    before = "::tenon::v1::detail::string_of(";
    behind = ")";
  } else if (element == "bool" ||
             (element == "Scalar" && !given.empty() &&
              all([](const std::string& item) { return item == "True" || item == "False"; }))) {
    head = array_of("bool");
  } else if (numbers && !(element == "Scalar" && all([](const std::string& item) {
                            return item.find_first_not_of("-0123456789") == item.npos;
                          }))) {
    head = "std::vector<double>{";
  }
  std::string items;
  for (const std::string& item : given) {
    if (!items.empty()) items += ", ";
    items.append(before).append(default_of(element, item)).append(behind);
  }
  return head + items + "}";
}

std::string default_of(const std::string& type, const std::string& text) {
  if (text == "None") return type == "Tensor?" ? "{}" : type == "dtype?" ? "DType::none" : "none";
  if (text == "True") return "true";
  if (text == "False") return "false";
  if (text == "bool") return "boolean";  // a dtype
  if (text == "nan") return "std::numeric_limits<double>::quiet_NaN()";
  if (text == "inf") return "std::numeric_limits<double>::infinity()";
  if (text == "-inf") return "-std::numeric_limits<double>::infinity()";
  if (text.front() == '\'') {
    std::string quoted = "\"";
    for (const char c : text.substr(1, text.size() - 2))
      quoted += c == '"' ? "\\\"" : std::string(1, c);
    return quoted + "\"";
  }
  if (text == "-9223372036854775808") return "std::numeric_limits<int64_t>::min()";
  if (text.front() != '[') return text;
  return default_list(type.substr(0, type.find('[')), items_of(text));
}

// The ops of the shipped plugins but `plugin`, which have functions in headers of the SDK.
std::set<std::string, std::less<>> shipped_ops(const std::string& plugin) {
  std::set<std::string, std::less<>> names;
  constexpr std::array kShipped = {"math", "blas", "data", "nn"};
  // They do not see each other's functions: while Tenon is built, some of them are not there.
  if (std::find(kShipped.begin(), kShipped.end(), plugin) != kShipped.end()) return names;
  for (const char* shipped : kShipped) {
    try {
      const Json ops = tenon::plugin_facts(shipped)["ops"];
      for (int64_t i = 0; i < ops.size(); ++i) names.insert(ops[i]["name"].text());
    } catch (const tenon::Error&) {
      continue;  // not installed
    }
  }
  return names;
}

// `all`: the full names of the plugin's ops.
Function read_op(const Json& op, const std::set<std::string, std::less<>>& all) {
  Function function;
  function.full_name = op["name"].text();
  if (op["fault"].defined())
    throw tenon::ValueError("op " + function.full_name + ": " + op["fault"].text());
  std::string_view rest = function.full_name;
  for (size_t dot = rest.find('.'); dot != rest.npos; dot = rest.find('.')) {
    const std::string segment = identifier(std::string(rest.substr(0, dot)));
    // A function cannot have the name of a namespace beside it.
    const auto before = static_cast<size_t>(rest.data() - function.full_name.data()) + dot;
    const bool is_op = all.count(std::string_view(function.full_name).substr(0, before)) != 0;
    function.name_space += (function.name_space.empty() ? "" : "::") + segment + (is_op ? "_" : "");
    rest.remove_prefix(dot + 1);
  }
  function.name = identifier(std::string(rest));
  const Json schema = tenon::parse_schema(op["schema"].text());
  function.method = schema["method"].as_bool();
  const Json parameters = schema["parameters"];
  for (int64_t i = 0; i < parameters.size(); ++i) {
    const std::string type = without_alias(parameters[i]["type"].text());
    const Json given = parameters[i]["default"];
    std::string name = identifier(parameters[i]["name"].text());
    const auto is_taken = [&](const Parameter& other) { return other.name == name; };
    while (std::any_of(function.parameters.begin(), function.parameters.end(), is_taken))
      name += '_';
    function.parameters.push_back({std::move(name),
                                   type_of(kParameterTypes, type, "const Argument&"),
                                   given.defined() ? default_of(type, given.text()) : ""});
  }
  const Json returns = schema["returns"];
  std::string results;
  for (int64_t i = 0; i < returns.size(); ++i)
    results += (i == 0 ? "" : ", ") +
               type_of(kResultTypes, without_alias(returns[i]["type"].text()), "Value");
  function.result = returns.size() == 0                 ? "void"
                    : schema["returns_tuple"].as_bool() ? "std::tuple<" + results + ">"
                                                        : results;
  return function;
}

// head + a, b, c + tail, over several lines where it is long.
std::string wrapped(const std::string& head, const Words& items, const std::string& tail) {
  std::string line = head, text;
  const std::string indent(8, ' ');
  for (size_t i = 0; i < items.size(); ++i) {
    const std::string item = items[i] + (i + 1 < items.size() ? "," : tail);
    const bool separate = i > 0 && line != indent;
    if (line.size() + separate + item.size() > kColumns && line != indent) {
      text += line + "\n";
      line = indent + item;
    } else {
      line += (separate ? " " : "") + item;
    }
  }
  return text + line + (items.empty() ? tail : "") + "\n";
}

// From parameter `first`; C++ takes defaults behind the last parameter without one.
Words declarations(const Function& function, size_t first, bool defaults) {
  size_t required = 0;
  for (size_t i = 0; i < function.parameters.size(); ++i) {
    if (function.parameters[i].default_value.empty()) required = i + 1;
  }
  Words list;
  for (size_t i = first; i < function.parameters.size(); ++i) {
    const Parameter& parameter = function.parameters[i];
    list.push_back(parameter.type + " " + parameter.name);
    if (defaults && i >= required) list.back() += " = " + parameter.default_value;
  }
  return list;
}

// The calling half of a function or method: `self` is its name for the first argument.
std::string body(const Function& function, const std::string& self, const std::string& call) {
  Words values;
  for (const Parameter& parameter : function.parameters) {
    const auto function_of = kValueFunctions.find(parameter.type);
    const std::string& name = values.empty() ? self : parameter.name;
    if (function_of != kValueFunctions.end())
      values.push_back("::tenon::v1::detail::" + function_of->second + "(" + name + ")");
    else if (name == parameter.name &&
             (parameter.type == "const Argument&" || parameter.type == "const Scalar&"))
      values.push_back(name + ".value()");
    else
      values.push_back("Argument(" + name + ").value()");
  }
  return "  static ::tenon::v1::detail::WrappedOp op(\"" + function.full_name + "\");\n" +
         (values.empty() ? "" : wrapped("  const tenon_value given[] = {", values, "};")) +
         "  return op." + call + "<" + function.result + ">(" + (values.empty() ? "" : "given") +
         ");\n}\n";
}

std::string definition(const Function& function) {
  const std::string self = function.parameters.empty() ? "" : function.parameters.front().name;
  return wrapped("inline " + function.result + " " + function.name + "(",
                 declarations(function, 0, true), ") {") +
         body(function, self, "call");
}

std::string method_declaration(const Function& function) {
  return wrapped("inline " + function.result + " " + function.name + "(",
                 declarations(function, 1, true), ") const;");
}
// It calls the op itself, so that handlers see that a method was called.
std::string method_definition(const Function& function) {
  return wrapped("inline " + function.result + " Tensor::" + function.name + "(",
                 declarations(function, 1, false), ") const {") +
         body(function, "*this", "call_method");
}

std::vector<Function> read_ops(const Json& declared) {
  std::vector<Function> functions;
  const Json ops = declared["ops"];
  const std::string id = declared["id"].text();
  const auto shipped = shipped_ops(id);
  std::set<std::string, std::less<>> names;
  for (int64_t i = 0; i < ops.size(); ++i) names.insert(ops[i]["name"].text());
  const bool is_op = names.count(id) != 0 || shipped.count(id) != 0;
  for (int64_t i = 0; i < ops.size(); ++i) {
    Function function = read_op(ops[i], names);
    // A header of the SDK has a function of this name: another provider's is in its own namespace.
    if (shipped.count(function.full_name) != 0) {
      std::string own = identifier(id) + (is_op ? "_" : "");
      // An id may have what a C++ name has not.
      std::replace_if(
          own.begin(), own.end(), [](char c) { return c == '-' || c == '.'; }, '_');
      function.name_space = own + (function.name_space.empty() ? "" : "::") + function.name_space;
    }
    functions.push_back(std::move(function));
  }
  std::sort(functions.begin(), functions.end(), [](const Function& a, const Function& b) {
    return a.name_space != b.name_space ? a.name_space < b.name_space : a.name < b.name;
  });
  return functions;
}

}  // namespace

Files write(const std::string& plugin, bool methods) {
  const Json declared = tenon::plugin_facts(plugin);
  const std::string title = "the ops of plugin " + declared["id"].text() + " " +
                            declared["version"].text() +
                            ", generated from its facts by `tenon wrappers`: do not edit.\n"
                            "// clang-format off\n";
  Files files{"// Typed functions for " + title + "#pragma once\n\n",
              "// Methods of Tensor: " + title};
  const std::vector<Function> functions = read_ops(declared);
  std::string name_space, functions_text, bodies;
  for (const Function& function : functions) {
    if (function.name_space != name_space) {
      if (!name_space.empty()) functions_text += "}  // namespace " + name_space + "\n";
      name_space = function.name_space;
      functions_text += "\nnamespace " + name_space + " {\n";
    }
    functions_text += "\n" + definition(function);
    if (!function.method || !methods) continue;
    files.methods += method_declaration(function);
    bodies += "\n" + method_definition(function);
  }
  if (!name_space.empty()) functions_text += "\n}  // namespace " + name_space + "\n";
  functions_text += bodies;
  // Standard headers that are needed seldom: each takes compile time of every small plugin.
  const auto has = [&](const char* text) { return functions_text.find(text) != std::string::npos; };
  if (has("std::numeric_limits")) files.functions += "#include <limits>\n";
  if (has("std::tuple")) files.functions += "#include <tuple>\n";
  if (has("std::numeric_limits") || has("std::tuple")) files.functions += "\n";
  files.functions += "#include <tenon/op.hpp>\n\nTENON_NAMESPACE_BEGIN\n" + functions_text +
                     "\nTENON_NAMESPACE_END\n";
  return files;
}

void save(const std::string& path, const std::string& text) {
  if (std::filesystem::is_regular_file(path)) {  // a named pipe would block its reader
    std::ifstream file(path, std::ios::binary);
    if (file && std::string(std::istreambuf_iterator<char>(file), {}) == text) return;
  }
  // Compilers that run meanwhile see the old header or the new one.
  const std::string next = path + ".new";
  if (std::ofstream file(next, std::ios::binary); !(file << text).flush()) {
    const std::string reason = std::strerror(errno);
    std::error_code ignored;
    std::filesystem::remove(next, ignored);
    throw tenon::IOError("cannot write '" + path + "': " + reason);
  }
  std::filesystem::rename(next, path);
}

}  // namespace wrappers
