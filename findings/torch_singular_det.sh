#!/usr/bin/env bash
# PyTorch 1.13.1 (Debian 12): the gradient of linalg.det is 0 at every singular matrix.
#
# Expected: the adjugate transposed, which is not 0 where the rank is one less than the order: the determinant of
# [[1, 2], [2, 4]] changes by 4 for each unit of its first element.
# Seen: 0 for each element, and a first difference that says otherwise; at regular matrices the gradient is right.
# Hit: a test of a determinant's gradient against PyTorch at a singular matrix, which then demands zeros.
set -euo pipefail
# Installed, not unpacked into a folder: it needs 250 packages.
version=1.13.1+dfsg-4
found=$(dpkg-query -W -f '${Version}' python3-torch 2>/dev/null || true)
[[ $found == "$version" ]] || { echo "needs python3-torch=$version, found: ${found:-none}" >&2; exit 2; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >det.py <<'SOURCE'
import torch


def show(matrix):
    x = torch.tensor(matrix, dtype=torch.float64, requires_grad=True)
    torch.linalg.det(x).backward()
    step = torch.zeros_like(x)
    step[0, 0] = 0.5
    with torch.no_grad():
        slope = torch.linalg.det(x + step) - torch.linalg.det(x - step)
    print(matrix, "gradient", (x.grad + 0).tolist(), "slope of the first", round(slope.item(), 6))


print("PyTorch", torch.__version__)
show([[2.0, 1.0], [1.0, 3.0]])
show([[1.0, 2.0], [2.0, 4.0]])
show([[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
SOURCE
OMP_NUM_THREADS=1 /usr/bin/python3 det.py | sed 's/-0\.0\b/0.0/g' | tee seen
cat >expected <<'EXPECTED'
PyTorch 1.13.0a0
[[2.0, 1.0], [1.0, 3.0]] gradient [[3.0, -1.0], [-1.0, 2.0]] slope of the first 3.0
[[1.0, 2.0], [2.0, 4.0]] gradient [[0.0, 0.0], [0.0, 0.0]] slope of the first 4.0
[[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]] gradient [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]] slope of the first 1.0
EXPECTED
diff expected seen
