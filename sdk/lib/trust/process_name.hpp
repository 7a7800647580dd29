// Identity of a process, distinct from one that has its number later, or in another container.
#pragma once

#include <string>

#include <tenon/host.hpp>

TENON_NAMESPACE_BEGIN

namespace trust {

struct ProcessName {
  int number = 0;
  std::string boot;   // id of the machine's boot
  std::string space;  // namespace of process numbers
  std::string start;  // in ticks since the boot; empty: there is no such process

  static ProcessName own();
  // Whether this process runs, as far as another process can know.
  bool is_alive() const;
};

// Whether no process has this number.
bool is_number_free(int number);

}  // namespace trust

TENON_NAMESPACE_END
