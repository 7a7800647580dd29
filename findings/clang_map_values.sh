#!/usr/bin/env bash
# Clang 14.0.6 with libstdc++ 12.2 (both Debian 12): views of C++20 do not compile.
#
# Expected: Clang accepts -std=c++20 and <ranges> is included without an error, so its views can be used.
# Seen: std::views::values of a map and std::views::filter of a vector are refused, "constraints not satisfied", out
# of the library's own header. GCC 12.2 compiles the same lines, and both a loop with a structured binding.
# Hit: code that GCC has built and tested breaks clang-tidy, and users of the other compiler. Remedy here: loops.
set -euo pipefail
clang=1:14.0.6-12 library=12.2.0-14+deb12u1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -qq 2>/dev/null "clang-14=$clang" "libclang-cpp14=$clang" "libllvm14=$clang" \
  "libclang-common-14-dev=$clang" "libstdc++-12-dev=$library" "libgcc-12-dev=$library" libc6-dev linux-libc-dev
for package in *.deb; do dpkg-deb -x "$package" root; done
export LD_LIBRARY_PATH=$PWD/root/usr/lib/x86_64-linux-gnu:$PWD/root/usr/lib/llvm-14/lib
cat >values.cpp <<'SOURCE'
#include <map>
#include <ranges>
#include <vector>
int sum(const std::map<int, int>& map, const std::vector<int>& list) {
  int total = 0;
#if defined(VALUES)
  for (const int value : std::views::values(map)) total += value;
#elif defined(FILTER)
  for (const int value : list | std::views::filter([](int x) { return x > 0; })) total += value;
#else
  for (const auto& [key, value] : map) total += value;
#endif
  return total + static_cast<int>(list.size());
}
SOURCE
for form in VALUES FILTER LOOP; do
  code=0
  root/usr/lib/llvm-14/bin/clang++ -std=c++20 --gcc-toolchain="$PWD/root/usr" -fsyntax-only "-D$form" values.cpp \
    2>"$form" || code=$?
  echo "$form: exit code $code, $(grep -c 'constraints not satisfied' "$form" || true) times constraints"
done | tee seen
cat >expected <<'EXPECTED'
VALUES: exit code 1, 6 times constraints
FILTER: exit code 1, 6 times constraints
LOOP: exit code 0, 0 times constraints
EXPECTED
diff expected seen
