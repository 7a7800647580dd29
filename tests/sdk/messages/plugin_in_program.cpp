// expect: include <tenon/plugin.hpp> first; the headers above were included in program mode
// clang-format off
#include <tenon/tenon.hpp>
#include <tenon/plugin.hpp>
