// Turns one call into nodes.
#pragma once

#include "export/recorder.hpp"

namespace onnx {

// Records the call as a node of the operator, by its conversion read backwards. False, with the reason, where
// the conversion does not give this call.
bool invert(Recorder& recorder, const Inverse& inverse, const RecordedCall& call,
            std::string& reason);

// Whether the rule is for the arguments of the call.
bool admits(const ExportRule& rule, const RecordedCall& call);
// Calls the ops of the rule's expressions; their results, one for each of the call's. Whatever the ops refuse
// is thrown.
std::vector<tenon::Value> evaluate(const ExportRule& rule, const RecordedCall& call,
                                   ExportRules& rules);

// Whether an argument is what a rule or schema writes, numbers by their value.
bool is_literal(const tenon_value& value, const tenon::Json& literal);

}  // namespace onnx
