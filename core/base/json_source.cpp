// Boost.JSON itself, compiled into libtenon: its static library is not position independent, and an
// installed Tenon must not need the shared one.
#include <boost/json/src.hpp>
