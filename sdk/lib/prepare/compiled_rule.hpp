// Rules held against the schemas of their ops.
#pragma once

#include <string>
#include <vector>

#include <tenon/prepare/rewrite.hpp>

#include "signature.hpp"

TENON_NAMESPACE_BEGIN

namespace rewrites {

// A term whose calls have one argument for each parameter of the op.
struct CompiledTerm {
  const Term* term = nullptr;            // null: the default of a parameter, see `literal`
  const Signature* signature = nullptr;  // of a call
  std::vector<CompiledTerm> arguments;   // of a call, by parameter
  std::vector<CompiledTerm> items;       // of a list
  Literal literal;                       // of a literal and a default
  std::string rest;                      // of `Term::Kind::rest`: its name
  Term::Kind kind = Term::Kind::literal;
  // Results of this call: the first of them, and how many the term stands for; 0: all.
  size_t result = 0;
  bool one_result = true;
};

struct CompiledRule {
  const Rule* rule = nullptr;
  std::vector<CompiledTerm> pattern, replacement;
  size_t calls = 0;  // number of calls in the pattern
  size_t left = 0;   // and in the replacement
};

// The rule, which has to outlive the result, as have the signatures. ValueError where an op is missing, or
// is called otherwise than its schema says; the text names the column.
CompiledRule compile(const Rule& rule, Signatures& signatures);

}  // namespace rewrites

TENON_NAMESPACE_END
