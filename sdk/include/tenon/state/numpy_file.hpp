// Arrays in the files of NumPy: .npy, one array, and .npz, a zip file of several with names.
#pragma once

#include <string>
#include <vector>

#include <tenon/state/tensor_file.hpp>

TENON_NAMESPACE_BEGIN

namespace state {

struct NpyHeader {             // head of a .npy file
  std::vector<int64_t> shape;  // sizes, row-major
  DType dtype;                 // dtype of the elements
};

// The array of a .npy file: bool, integers, floats and complex numbers of any byte order, of any order
// of dimensions and format version. Arrays of Python objects and of records are refused. IOError for
// what the system refuses and for a file that ends early, ValueError for what is not of the format.
Tensor load_npy(const std::string& path);
// load_npy without a copy: a page of the file is read when it is first used. Writing to the tensor
// changes it alone, never the file, which must not be shortened as long as the tensor is used. An array
// in Fortran's order has the strides of it; one of the other byte order is copied.
Tensor map_npy(const std::string& path);
NpyHeader npy_header(const std::string& path);  // IOError, ValueError of a wrong file
// Replaces the file as a whole, or leaves the old one. TypeError for a dtype that the format lacks.
void save_npy(const std::string& path, const Tensor& tensor);

// The arrays of these names, of all names where there are none; members that are not arrays are
// skipped. ValueError for a name that is not there.
NamedTensors load_npz(const std::string& path, const std::vector<std::string>& names = {});
// load_npz without a copy of arrays that are stored uncompressed, as numpy.savez does, and aligned.
NamedTensors map_npz(const std::string& path, const std::vector<std::string>& names = {});
// Replaces the file as a whole, or leaves the old one. `compress`: as numpy.savez_compressed.
void save_npz(const std::string& path, const NamedTensors& tensors, bool compress = false);

}  // namespace state

TENON_NAMESPACE_END
