// expect: include <tenon/module_definition.hpp> before the definition of Layer
// expect: include <tenon/type_definition.hpp> before the definition of Diagonal
// expect: include <tenon/override_definition.hpp> before the definition of AddDiagonals
#include <tenon/plugin.hpp>

struct Layer {};
TENON_MODULE(Layer)
struct Diagonal {};
TENON_TYPE(Diagonal)
struct AddDiagonals {};
TENON_OVERRIDE(AddDiagonals)
