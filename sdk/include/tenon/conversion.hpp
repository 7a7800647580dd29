// Conversions: operators of another format that ops of any plugin stand for, as data in the plugin's
// file. The importer of the format reads them from there; no code of the plugin runs.
//
//   TENON_CONVERSIONS(activations, "onnx", R"(
//     Relu:6(X) = relu(X)
//     com.acme.Swish:1(X; beta=1.0) = acme.swish(X, beta=beta)
//   )")
//
// A rule is a line, OPERATOR:SINCE(INPUTS; ATTRIBUTES) = OP(ARGUMENTS). SINCE is the version of the
// domain from which on the rule holds, up to the next one of the same operator. plugins/onnx/README.md
// has the grammar.
#pragma once

#include "tenon/detail/facts.hpp"

TENON_NAMESPACE_BEGIN
namespace detail {

template <class Conversions>
struct ConversionsFact {
  static constexpr void write(FactsWriter& writer) {
    writer.raw(R"({"conversions":{"format":)");
    writer.string(Conversions::format);
    writer.raw(R"(,"rules":)");
    writer.string(Conversions::rules);
    writer.raw("}}");
  }
};

}  // namespace detail
TENON_NAMESPACE_END

// At global scope, in any file of a plugin. `name`: an identifier, unique in the file.
#define TENON_CONVERSIONS(name, format_name, rule_lines)                  \
  namespace {                                                             \
  struct tenon_conversions_##name {                                       \
    static constexpr std::string_view format = format_name;               \
    static constexpr std::string_view rules = rule_lines;                 \
  };                                                                      \
  }                                                                       \
  TENON_FACTS_PLACE static constexpr auto tenon_conversion_facts_##name = \
      ::tenon::detail::make_facts<::tenon::detail::ConversionsFact<tenon_conversions_##name>>();
