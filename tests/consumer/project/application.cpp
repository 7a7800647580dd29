// Prints the version that it was compiled against.
#include <cstdio>

#include <tenon/abi/version.h>

int main() {
  std::printf("tenon %d.%d.%d, boundary %d.%d\n", TENON_VERSION_MAJOR, TENON_VERSION_MINOR,
              TENON_VERSION_PATCH, TENON_ABI_MAJOR, TENON_ABI_MINOR);
}
