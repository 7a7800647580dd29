#!/usr/bin/env bash
# PyTorch 1.13.1 (Debian 12): numpy() of a zero tensor returns an array of whatever NumPy's memory last held.
#
# Expected: zeros, or an error as for other tensors without memory.
# Seen: a zero tensor, which formulas of forward mode use for tangents that are 0, has no memory, and tolist() says
# so. numpy() gives NumPy the null pointer, which takes it as "allocate", uninitialised: here the array has the
# elements of one that was released just before. The tensor prints as zeros, and clone() of it is right.
# Hit: tests that compare tangents as NumPy arrays, and fail or pass by what ran before them.
set -euo pipefail
# Installed, not unpacked into a folder: it needs 250 packages.
version=1.13.1+dfsg-4
found=$(dpkg-query -W -f '${Version}' python3-torch 2>/dev/null || true)
[[ $found == "$version" ]] || { echo "needs python3-torch=$version, found: ${found:-none}" >&2; exit 2; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >zero.py <<'SOURCE'
import numpy
import torch

print("PyTorch", torch.__version__, "NumPy", numpy.__version__)
zero = torch._efficientzerotensor((3,))
print(zero, "clone", zero.clone().numpy().tolist())
try:
    zero.tolist()
except RuntimeError as error:
    print("tolist", error)
released = numpy.full(3, 7, dtype=numpy.float32)
del released
print("numpy", zero.numpy().tolist())
SOURCE
OMP_NUM_THREADS=1 /usr/bin/python3 zero.py | tee seen
cat >expected <<'EXPECTED'
PyTorch 1.13.0a0 NumPy 1.24.2
tensor([0., 0., 0.]) clone [0.0, 0.0, 0.0]
tolist tolist() shouldn't be called on a tensor with unallocated storage
numpy [7.0, 7.0, 7.0]
EXPECTED
diff expected seen
