// Reductions and element types of MPI.
#include "reduce.hpp"

#include <string>

#include <tenon/ops.hpp>

namespace mpi {

namespace {

constexpr const char* kNames[] = {"sum", "mean", "max", "min", "prod"};

// MPI_MAX and MPI_MIN leave open what becomes of NaN.
template <class T, bool Largest>
void extremum(void* in, void* inout, int* count, MPI_Datatype*) {
  const T* a = static_cast<const T*>(in);
  T* b = static_cast<T*>(inout);
  for (int i = 0; i < *count; ++i)
    if (a[i] != a[i] || (Largest ? a[i] > b[i] : a[i] < b[i])) b[i] = a[i];
}
template <class T, bool Largest>
MPI_Op extremum_op() {
  static const auto op = [] {
    MPI_Op made;
    MPI_Op_create(&extremum<T, Largest>, 1, &made);
    return made;
  }();
  return op;
}
template <bool Largest>
MPI_Op extremum_of(tenon::DType dtype) {
  if (dtype == tenon::f32) return extremum_op<float, Largest>();
  if (dtype == tenon::f64) return extremum_op<double, Largest>();
  if (dtype == tenon::boolean) return Largest ? MPI_LOR : MPI_LAND;
  return Largest ? MPI_MAX : MPI_MIN;
}

}  // namespace

const char* reduce_name(int reduce) { return kNames[reduce]; }

Reduce parse_reduce(const char* op, std::string_view name, tenon::DType dtype) {
  int found = 0;
  while (found < 5 && name != kNames[found]) ++found;
  if (found == 5) {
    throw tenon::ValueError(std::string(op) +
                            "(): reduce must be sum, mean, max, min or prod, got '" +
                            std::string(name) + "'");
  }
  if (tenon::is_narrow(dtype)) {
    throw tenon::TypeError(std::string(op) + "(): " + tenon::dtype_text(dtype) +
                           " elements are not reduced; convert the tensor with to(float32)");
  }
  const bool extremum = found == max || found == min;
  if ((dtype == tenon::boolean && !extremum) || (found == mean && !tenon::is_floating(dtype))) {
    throw tenon::TypeError(std::string(op) + "(): the " + kNames[found] + " of " +
                           tenon::dtype_text(dtype) +
                           " elements is not defined; convert with to()");
  }
  return static_cast<Reduce>(found);
}

void check_gradient(const char* op, std::string_view gradient) {
  if (gradient == "sum" || gradient == "identity") return;
  throw tenon::ValueError(std::string(op) + "(): gradient must be sum or identity, got '" +
                          std::string(gradient) + "'");
}

MPI_Op mpi_op(Reduce reduce, tenon::DType dtype) {
  switch (reduce) {
    case max:
      return extremum_of<true>(dtype);
    case min:
      return extremum_of<false>(dtype);
    case prod:
      return MPI_PROD;
    default:
      return MPI_SUM;
  }
}

MPI_Datatype mpi_type(tenon::DType dtype) {
  switch (dtype) {
    case tenon::f32:
      return MPI_FLOAT;
    case tenon::f64:
      return MPI_DOUBLE;
    case tenon::i64:
      return MPI_INT64_T;
    case tenon::i32:
      return MPI_INT32_T;
    case tenon::i16:
      return MPI_INT16_T;
    case tenon::i8:
      return MPI_INT8_T;
    case tenon::u16:
      return MPI_UINT16_T;
    case tenon::u32:
      return MPI_UINT32_T;
    case tenon::u64:
      return MPI_UINT64_T;
    default:
      return MPI_UINT8_T;
  }
}

}  // namespace mpi
