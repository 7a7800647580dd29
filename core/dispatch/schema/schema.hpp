// Schemas: the parsed form of an op's signature text, the only place of a signature.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/abi/value.h"

namespace tenon::core {

inline constexpr int64_t kMaxParameters = 32;

// Kind of a parameter or return. Scalar is a number: bool, int or float.
enum class TypeKind : uint8_t {
  tensor,
  tensor_or_scalar,
  scalar,
  integer,
  floating,
  boolean,
  string,
  dtype,
  json,
  module,  // an attribute of modules
  any
};

// A tag of values in a set of tags.
constexpr uint32_t tag_bit(uint32_t tag) { return 1u << tag; }

// Facts about a kind: its name in schemas and in messages, tags of values that are accepted without
// conversion, and the tag of lists; NONE: there are none.
struct KindFacts {
  TypeKind kind;
  std::string_view name, words;
  uint32_t tags, list_tag;
};
// In the order of TypeKind.
extern const std::array<KindFacts, 11> kTypeKinds;
inline const KindFacts& facts_of(TypeKind kind) { return kTypeKinds[static_cast<size_t>(kind)]; }

struct SchemaType {
  TypeKind kind = TypeKind::tensor;
  bool list = false;
  bool dictionary = false;  // Module{}: by name
  int32_t length = 0;       // int[2]: two, and a single int stands for both; 0: any number
  bool optional = false;
  char alias = 0;        // 'a' in Tensor(a); 0: fresh
  bool mutates = false;  // Tensor(a!)
};

// An owned default: a value whose lists and strings live in the schema.
struct DefaultValue {
  tenon_value value{};
  std::string text;  // as printed: True, None, 1, 'mean'
};

struct Parameter {
  std::string name;
  SchemaType type;
  bool keyword_only = false;
  bool has_default = false;
  DefaultValue default_value;
  // Bit per value tag that may be passed without conversion; see accepts(). Lists of fixed length
  // are not among them: their length has to be looked at.
  uint32_t accept = 0;
};

struct Schema {
  std::string text;  // normalized
  std::string name;  // "nn.functional.linear"
  std::vector<Parameter> parameters;
  std::vector<SchemaType> returns;
  std::vector<std::string> return_names;  // empty strings where unnamed
  bool returns_tuple = false;             // written in parentheses: "(Tensor y)"
  int64_t positional_count = 0;           // parameters before '*'
  int64_t required_count = 0;             // leading positional parameters without a default
  std::string owner;  // a module's forward: its type, "Linear"; messages name both

  std::string_view short_name() const;             // "linear"
  std::string called_name() const;                 // "linear", or "Linear.forward"
  std::string_view namespace_name() const;         // "nn.functional", "" for the root
  int64_t find(std::string_view parameter) const;  // -1: no such parameter

  Schema() = default;
  Schema(const Schema&) = delete;  // defaults point into the schema
  Schema& operator=(const Schema&) = delete;
  Schema(Schema&&) = default;
  Schema& operator=(Schema&&) = default;

  // Lists and strings of defaults; their addresses survive a move of the schema.
  std::vector<std::shared_ptr<const void>> default_storage;
};

// The grammar; spaces are allowed between any two words:
//   schema    = name "(" [parameter {"," parameter}] ")" ["->" returns]
//   name      = word {"." word}; the first is not "tenon", the runtime's own namespace
//   parameter = type word ["=" default] | "*", after which all are keyword-only
//   type      = base ["[" [length] "]" | "{" "}"] ["?"]
//   base      = "Tensor" ["(" letter ["!"] ")"] | "Tensor|Scalar" | "Scalar" | "int" | "float" |
//               "bool" | "str" | "dtype" | "json" | "Module" | "any"
//   default   = number | inf | -inf | nan | True | False | None | 'text' | dtype |
//               "[" [default {"," default}] "]"
//   returns   = type | "(" [type [word] {"," type [word]}] ")"
// Only a list of modules can be a dictionary, `Module{}`: modules by name. Without "->" the text
// describes the attributes of a module. A result that aliases a parameter carries the letter of
// one. A keyword-only `out` is written `Tensor(a!)? out=None`.
//
// Throws ValueError whose message shows the text with a caret under the fault:
//   schema error at column 5: unknown type 'Tensr' (did you mean 'Tensor'?)
//     add(Tensr input)
//         ^
Schema parse_schema(std::string_view text);
// "(input, other, *, alpha=1, out=None)"
std::string signature_text(const Schema& schema);
// The parameters in parentheses, each as `text` writes it.
std::string parameters_text(const Schema& schema, std::string (*text)(const Parameter& parameter));
// How two schemas of one name differ, the first difference alone: "their schemas differ in
// parameter 2: 'int k' of 'a', 'float k=1.0' of 'b'". Empty when they are the same.
std::string schema_difference(const Schema& a, std::string_view a_owner, const Schema& b,
                              std::string_view b_owner);
// The tag of a flat list or dictionary of such elements.
uint32_t list_tag(const SchemaType& type);
// Bit per value tag that may be passed for the type without conversion; lists of fixed length are
// accepted like others: their length has to be looked at.
uint32_t accepted_tags(const SchemaType& type);
// "int k=1", as schema text writes it; and results: "Tensor", "(Tensor y, Tensor z)".
std::string parameter_text(const Parameter& parameter);
std::string returns_text(const Schema& schema);
// The type as schema text writes it: "Tensor?", "int[]", "Tensor(a!)".
std::string type_text(const SchemaType& type);

}  // namespace tenon::core
