// Batch rules (<tenon/transforms/batch_rules.hpp>): products of samples are batched products.
#include <tenon/transforms/batch_rules.hpp>

TENON_BATCH_RULES(products, R"(
matmul: leading(input=2, other=2) where rank(input) >= 2, rank(other) >= 2
# One product of all samples with the matrix that they share.
matmul: leading(input=1, other=2) where rank(input) == 1, rank(other) == 2, not batched(other)
matmul(input, other) = matmul(other, transpose(input, 0, 1)) where rank(input) == 2, rank(other) == 1, not batched(input)
matmul(input, other) = sum(mul(input, other), -1) where rank(input) == 1, rank(other) == 1
matmul(input, other) = select(matmul(unsqueeze(input, 0), other), -2, 0) where rank(input) == 1
matmul(input, other) = select(matmul(input, unsqueeze(other, 1)), -1, 0)
mm(input, mat2) = matmul(input, mat2)
bmm(input, mat2) = matmul(input, mat2)
mv(input, vec) = matmul(input, vec)
dot(input, other) = matmul(input, other)
addmm(input, mat1, mat2, beta, alpha) = add(matmul(mat1, mat2), input) where beta == 1, alpha == 1
addmm(input, mat1, mat2, beta, alpha) = add(mul(matmul(mat1, mat2), alpha), mul(input, beta))
)")

TENON_BATCH_RULES(factors, R"(
linalg.cholesky, linalg.det, linalg.eig, linalg.eigh, linalg.eigvals, linalg.eigvalsh, linalg.inv, linalg.lu: leading(A=2)
linalg.matrix_exp, linalg.matrix_rank, linalg.pinv, linalg.slogdet, linalg.svd, linalg.svdvals: leading(A=2)
linalg.qr: leading(A=2) where mode != "r"
linalg.solve: leading(A=2, B=2) where rank(A) == 2, rank(B) == 2
linalg.lstsq: loop("the rank of A decides about the shape of the residuals")
linalg.solve(A, B) = select(linalg.solve(A, unsqueeze(B, 1)), -1, 0) where rank(A) == 2, rank(B) == 1, left == true
)")
