// Constants of a program: initializers, attributes and computed values. Weights become members of the module.
#pragma once

#include <map>
#include <set>

#include "builder.hpp"
#include "scope.hpp"
#include "signature.hpp"

namespace onnx {

class Constants {
 public:
  Constants(ModelFile& file, BuiltModel& built) : file_(file), built_(built) {}

  Source add(tenon::Value value);
  // A value that is a weight where an op reads it as a tensor.
  Source add_weight(tenon::Value value, std::string_view name);
  // The weight of a message, which is made once: a function's is that of all calls.
  Source initializer(const TensorData& data);
  // The value of a Constant, whose output has the name.
  Source constant(const Attribute& attribute, std::string_view name);
  Source attribute(const Attribute& attribute, const Parameter& parameter);

  // Whether it is a tensor of int4 or uint4 in the file.
  bool has_4_bits(Source source) const {
    return source.kind == Source::Kind::constant && four_bits_.count(source.index) != 0;
  }

  // A constant that an op reads as a tensor of numbers is a weight: a parameter, or a buffer where the op
  // keeps statistics there. Single elements are one where a layer reads them, and not as numbers of an
  // elementwise op: the bias of one output.
  // Others with dimensions are buffers outside of the state: they follow the module to a device, and stay
  // where they are for what reads numbers and shapes.
  Source as_member(Source source, const std::string& parameter, bool layer = false);

 private:
  void follow(uint32_t constant, std::string_view name);
  Source add(const tenon::Tensor& tensor, std::string_view name);
  std::string unique_name(std::string_view name);

  ModelFile& file_;
  BuiltModel& built_;
  std::map<std::pair<const void*, std::string>, Source>
      known_;                                     // by messages and what they are for
  std::map<uint32_t, std::string_view> weights_;  // constants that may be members
  std::map<uint32_t, Source> members_;            // constants that are members
  std::set<uint32_t> four_bits_;                  // constants of int4 and uint4
  std::map<std::string, int> names_;              // of members, with the last number behind them
};

}  // namespace onnx
