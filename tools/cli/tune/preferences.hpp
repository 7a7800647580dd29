// From what was measured to the preferences of a config.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <tenon/json.hpp>

#include "config_edit.hpp"
#include "measurement.hpp"

namespace cli {

// The calls of an op whose operands are of the same classes.
struct CallClass {
  std::string op;
  OperandClasses classes;
  int64_t calls = 0;
  std::string usual;  // the providers without preferences
  // Time of all these calls, by the provider that is asked first.
  std::map<std::string, double> seconds;
  std::map<std::string, std::string> declined;  // providers that take none of them, why
  double usual_seconds = 0;
  std::string winner;           // the fastest
  double gain = 0;              // the part of the usual time that it saves
  bool has_preference = false;  // it saves enough
};

// Sorted by op and classes. A preference has to save this part of the time.
std::vector<CallClass> classify(const std::vector<MeasuredCall>& calls, double least_gain);

// The JSON object of a preference's "when".
tenon::Json when_of(const OperandClasses& classes);

// The changes at "ops"/"prefer" of the config: preferences for classes that were measured are
// replaced; those for other classes and for all calls stay.
std::vector<NewPreference> changed_preferences(const tenon::Json& config,
                                               const std::vector<CallClass>& classes);
// The config without preferences for some calls.
tenon::Json without_rules(const tenon::Json& config);

}  // namespace cli
