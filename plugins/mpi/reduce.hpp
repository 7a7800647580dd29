// How elements of ranks are put together.
#pragma once

#include <mpi.h>
#include <string_view>

#include <tenon/plugin.hpp>

namespace mpi {

enum Reduce : int { sum, mean, max, min, prod };

// "sum"
const char* reduce_name(int reduce);

// ValueError for another name, TypeError for a dtype that cannot be put together so.
Reduce parse_reduce(const char* op, std::string_view name, tenon::DType dtype);

// ValueError unless it says what the ranks' losses are: "sum" or "identity".
void check_gradient(const char* op, std::string_view gradient);

// The MPI operation for elements of a dtype. NaN is the largest and the smallest number. `mean` is
// a sum: the caller divides.
MPI_Op mpi_op(Reduce reduce, tenon::DType dtype);
MPI_Datatype mpi_type(tenon::DType dtype);

}  // namespace mpi
