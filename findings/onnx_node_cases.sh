#!/usr/bin/env bash
# python3-onnx 1.12 beside python3-numpy 1.24 (Debian 12): the node tests of the format cannot be made.
#
# Expected: onnx.backend.test.case.node.collect_testcases returns the cases of every operator, as the
# package's documentation says for tests of a backend; two packages of one release work together.
# Seen: AttributeError, because the cases of some operators say numpy.float or numpy.object, names that NumPy
# removed in 1.24. No case at all is returned, also not of operators that use neither; and the package
# carries the cases only as these programs, not as files. With both names put back it returns 924 cases.
# Hit: everybody who checks a backend with Debian's packages: the test suite seems to be missing. Remedy
# here: the program that writes the cases for our tests puts the names back before it imports the package.
set -euo pipefail
packages='python3-onnx=1.12.0-2+b4 libonnx1=1.12.0-2+b4 python3-numpy=1:1.24.2-1+deb12u1 python3-protobuf=3.21.12-3+deb12u1
  libprotobuf32=3.21.12-3+deb12u1 libblas3=3.11.0-2 liblapack3=3.11.0-2 libgfortran5=12.2.0-14+deb12u1 python3-typing-extensions=4.4.0-1'
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
# shellcheck disable=SC2086  # the list is words
apt-get download -qq 2>/dev/null $packages
for package in *.deb; do dpkg-deb -x "$package" root; done
libraries=$PWD/root/usr/lib/x86_64-linux-gnu
run() {
  LD_LIBRARY_PATH=$libraries:$libraries/blas:$libraries/lapack PYTHONPATH=$PWD/root/usr/lib/python3/dist-packages \
    PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 -W ignore -c "$1"
}
cat >cases.py <<'SOURCE'
import numpy, onnx
from onnx.backend.test.case.node import collect_testcases
print("onnx", onnx.__version__, "numpy", numpy.__version__)
try:
    print(len(collect_testcases(None)), "cases")
except AttributeError as error:
    print(str(error).splitlines()[0])
numpy.float, numpy.object = float, object
print(len(collect_testcases(None)), "with both names put back")
SOURCE
seen=$(run "$(cat cases.py)")
printf '%s\n' "$seen"
expected="onnx 1.12.0 numpy 1.24.2
module 'numpy' has no attribute 'float'.
924 with both names put back"
[[ $seen == "$expected" ]] || { echo 'this has changed' >&2; exit 1; }
