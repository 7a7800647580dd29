// expect: include <tenon/plugin.hpp> before all other headers of tenon
#include <tenon/tenon.hpp>
#include <tenon/plugin.hpp>
