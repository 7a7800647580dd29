#!/usr/bin/env bash
# GCC 12.2 (Debian 12): the order of variables in a named section is reversed by optimization.
#
# Expected: entries that a file places in a named section, the usual way to register tests, commands or plugins at
# link time, are there in the order of the file, whatever the options.
# Seen: -O0 emits first, second, third; -O1 to -O3 emit third, second, first. With -fno-toplevel-reorder it is the
# order of the file again.
# Hit: lists that are shown, or searched for the first match, in the order of the section: they differ between debug
# and release builds. Remedy here: facts are sorted by name when they are read.
set -euo pipefail
version=12.2.0-14+deb12u1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -qq 2>/dev/null "gcc-12=$version" "cpp-12=$version" libisl23 libmpc3 libmpfr6
for package in *.deb; do dpkg-deb -x "$package" root; done
export LD_LIBRARY_PATH=$PWD/root/usr/lib/x86_64-linux-gnu
cat >entries.c <<'SOURCE'
struct entry { const char* name; };
#define ENTRY(name) static const struct entry name __attribute__((section("entries"), used)) = {#name};
ENTRY(first)
ENTRY(second)
ENTRY(third)
SOURCE
for options in -O0 -O1 -O2 -O3 '-O2 -fno-toplevel-reorder'; do
  # shellcheck disable=SC2086
  root/usr/bin/x86_64-linux-gnu-gcc-12 $options -S entries.c -o entries.s
  echo "$options: $(sed -nE 's/^(first|second|third):$/\1/p' entries.s | xargs)"
done | tee seen
cat >expected <<'EXPECTED'
-O0: first second third
-O1: third second first
-O2: third second first
-O3: third second first
-O2 -fno-toplevel-reorder: first second third
EXPECTED
diff expected seen
