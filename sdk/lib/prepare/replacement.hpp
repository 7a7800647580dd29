// Calls that a rule puts in place of a match, which are run once for the layouts of their results.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "match.hpp"

TENON_NAMESPACE_BEGIN

namespace rewrites {

// New calls and values for a list, whose numbers follow those of the list.
struct Replacement {
  std::vector<ListedCall> calls;
  std::vector<ListValue> values;
  std::vector<size_t> results;      // in place of the match's, by number
  std::vector<std::string> folded;  // ops of calls on constants, whose results are constants here
};

// Runs the replacement on constants of the list and on zeros. ValueError where it does not fit: an argument
// of another kind, results of other layouts, random numbers; throws what its calls throw.
Replacement make_replacement(const ListIndex& index, const CompiledRule& rule, const Match& match);

// Puts it into the list. Returns the place of its first call, and the number of its calls; ValueError
// where the list depends on the memory of what is replaced, and then nothing has changed.
std::pair<size_t, size_t> replace(CallList& list, const ListIndex& index, const Match& match,
                                  Replacement replacement);

// Numbers values by their first use; those that are not used any more go.
void renumber(CallList& list);

}  // namespace rewrites

TENON_NAMESPACE_END
