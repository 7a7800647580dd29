/* Names each struct of the boundary, so that debug information has all of them: tools that compare two builds do not see a table
 * that is handed out as const void*. check_abi appends a variable of each type, and compiles this against the headers.
 * The types of a union's members are compared here: abidiff 2.2 reports nothing where they trade. */
#include <stdint.h>

#include <tenon/abi/abi.h>
#include <tenon/abi/guard.h>
#include <tenon/abi/unchanging.h>
#include <tenon/device/service.h>

#define IS(member, type) \
  _Static_assert(_Generic(((tenon_value*)0)->as.member, type : 1, default : 0), #member)
IS(integer, int64_t);
IS(number, double);
IS(string, const char*);
IS(tensor, tenon_tensor*);
IS(integers, const int64_t*);
IS(numbers, const double*);
IS(booleans, const uint8_t*);
IS(strings, const tenon_string*);
IS(tensors, tenon_tensor* const*);
IS(json, tenon_json*);
IS(module, tenon_module*);
IS(modules, tenon_module* const*);
IS(named_modules, const tenon_named_module*);
IS(pointer, void*);

/* The functions that libtenon exports. */
TENON_EXPORT const tenon_host* (*tenon_witness_host_get)(void) = 0;
TENON_EXPORT __typeof__(&tenon_guard_set) tenon_witness_guard_set = 0;
TENON_EXPORT __typeof__(&tenon_wrap_unchanging) tenon_witness_wrap_unchanging = 0;
