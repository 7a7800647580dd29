// Prints the version that it was compiled against, and what an op of the project's plugin returns.
#include <cstdio>
#include <squares_ops.hpp>

#include <tenon/abi/version.h>
#include <tenon/tenon.hpp>

int main() {
  std::printf("tenon %d.%d.%d, boundary %d.%d\n", TENON_VERSION_MAJOR, TENON_VERSION_MINOR,
              TENON_VERSION_PATCH, TENON_ABI_MAJOR, TENON_ABI_MINOR);
  tenon::add_plugin_path(PLUGIN_FOLDER);
  std::printf("%s\n", tenon::squares::square(tenon::tensor({3.0})).sum().text().c_str());
}
