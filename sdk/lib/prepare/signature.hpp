// Schemas of ops, as rules need them.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <tenon/prepare/call_list.hpp>
#include <tenon/prepare/rewrite.hpp>

TENON_NAMESPACE_BEGIN

namespace rewrites {

struct SchemaParameter {
  std::string name, type;  // "int[2]"
  std::string kind;        // "int"
  bool list = false, optional = false, keyword_only = false, mutates = false;
  int64_t length = 0;               // the number of an int[2]: 2
  std::optional<Literal> fallback;  // the default

  bool takes_tensors() const {
    return kind == "Tensor" || kind == "Tensor|Scalar" || kind == "any";
  }
};

struct Signature {
  std::string op;
  std::vector<SchemaParameter> parameters;
  std::vector<bool> results;  // by result: whether it is a list of tensors
  bool tensors_only = true;   // results are tensors and lists of them

  const SchemaParameter* find(const std::string& name) const;
};

// ValueError where the schema cannot be read.
Signature read_signature(const std::string& schema);

// Signatures of declared ops, each read when it is asked for. A nullptr: no usable plugin declares the op.
class Signatures {
 public:
  // The schemas, by name of the op.
  explicit Signatures(std::map<std::string, std::string> schemas) : schemas_(std::move(schemas)) {}
  const Signature* find(const std::string& op);
  std::vector<std::string> names() const;

 private:
  std::map<std::string, std::string> schemas_;
  std::map<std::string, Signature> read_;
};

// The literal as a value of the parameter's type, "int[2]" of 1 as [1, 1]; nothing where it is of another
// type. A none is null.
std::optional<std::shared_ptr<const Value>> value_for(const SchemaParameter& parameter,
                                                      const Literal& literal);

}  // namespace rewrites

TENON_NAMESPACE_END
