// expect: include <tenon/plugin.hpp> before all other headers of tenon
// clang-format off
#include <tenon/tenon.hpp>
#include <tenon/plugin.hpp>
