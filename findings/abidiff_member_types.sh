#!/usr/bin/env bash
# libabigail 2.2 (Debian 12): a suppression of members that are added at the end of a struct hides changes of those that are there.
#
# Expected: [suppress_type] with has_data_member_inserted_at = end suppresses, as its manual says, a change that is an insertion of
# a data member at the end; any other change of the struct is reported.
# Seen: a member whose function type returns int instead of long, with nothing inserted, is exit code 4 without the suppression and 0
# with it.
# Hit: the natural rule for tables that only grow lets incompatible slots pass. Remedy here: no suppression; the report of
# --leaf-changes-only is read, and insertions at or behind the old size are left out (tests/sdk/abi/growth.awk).
set -euo pipefail
version=2.2-2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -qq 2>/dev/null "abigail-tools=$version" "libabigail0=$version" libdw1 libelf1 libxml2 libicu72
for package in *.deb; do dpkg-deb -x "$package" root; done
export LD_LIBRARY_PATH=$PWD/root/usr/lib/x86_64-linux-gnu:$PWD/root/lib/x86_64-linux-gnu
for result in long int; do
  printf 'struct table { %s (*count)(int); };\nstruct table* witness;\n' "$result" >"$result.c"
  cc -g -shared -fPIC "$result.c" -o "$result.so"
done
cat >growth <<'SUPPRESSION'
[suppress_type]
  name = table
  has_data_member_inserted_at = end
SUPPRESSION
{
  code=0
  root/usr/bin/abidiff long.so int.so >/dev/null || code=$?
  echo "without the suppression: exit code $code"
  code=0
  root/usr/bin/abidiff --suppressions growth long.so int.so >/dev/null || code=$?
  echo "with it: exit code $code"
} | tee seen
cat >expected <<'EXPECTED'
without the suppression: exit code 4
with it: exit code 0
EXPECTED
diff expected seen
