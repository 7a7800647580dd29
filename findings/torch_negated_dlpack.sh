#!/usr/bin/env bash
# PyTorch 1.13.1 with NumPy 1.24 (both Debian 12): the imaginary part of a conjugate crosses DLPack with the wrong sign.
#
# Expected: a tensor that is negated lazily (is_neg) is negated before it is exported, or refused, as numpy() refuses it
# ("negative bit set") and as DLPack's export refuses one that is conjugated lazily.
# Seen: __dlpack__ and to_dlpack hand out the memory as it is, without the sign: NumPy, and PyTorch itself, read 2 for -2.
# Hit: the gradient or phase of a complex signal that goes to another library: no error, and each number has the other sign.
# Remedy: tensor.resolve_neg() before the export.
set -euo pipefail
# Installed, not unpacked into a folder: they need 250 packages.
for package in python3-torch=1.13.1+dfsg-4 python3-numpy=1:1.24.2-1+deb12u1; do
  found=$(dpkg-query -W -f '${Version}' "${package%%=*}" 2>/dev/null || true)
  [[ $found == "${package#*=}" ]] || { echo "needs $package, found: ${found:-none}" >&2; exit 2; }
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >negated.py <<'SOURCE'
import numpy
import torch
from torch.utils import dlpack


def refusal(call):
    try:
        call()
    except RuntimeError as error:
        return "refused: " + str(error).split(".")[0]
    return "not refused"


print("PyTorch", torch.__version__, "NumPy", numpy.__version__)
signal = torch.tensor([1 + 2j, 3 - 4j])
negated = signal.conj().imag
print("tensor", negated.tolist(), "lazily negated", negated.is_neg())
print("numpy()", refusal(negated.numpy))
print("conjugate by DLPack", refusal(lambda: numpy.from_dlpack(signal.conj())))
print("negated by DLPack: NumPy", numpy.from_dlpack(negated).tolist())
print("negated by DLPack: PyTorch", torch.from_dlpack(negated).tolist(), dlpack.from_dlpack(dlpack.to_dlpack(negated)).tolist())
print("resolved by DLPack: NumPy", numpy.from_dlpack(negated.resolve_neg()).tolist())
SOURCE
/usr/bin/python3 negated.py | tee seen
cat >expected <<'EXPECTED'
PyTorch 1.13.0a0 NumPy 1.24.2
tensor [-2.0, 4.0] lazily negated True
numpy() refused: Can't call numpy() on Tensor that has negative bit set
conjugate by DLPack refused: Can't export tensors with the conjugate bit set
negated by DLPack: NumPy [2.0, -4.0]
negated by DLPack: PyTorch [2.0, -4.0] [2.0, -4.0]
resolved by DLPack: NumPy [-2.0, 4.0]
EXPECTED
diff expected seen
