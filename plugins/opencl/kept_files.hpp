// Files of compiled programs, kept for later processes. Several processes write and read them at the same time.
#pragma once

#include <string>

namespace tenon_opencl {

// The file of what the text decides, in the user's cache; "" without one.
std::string kept_file(const std::string& text);
// The bytes that were kept; "" where there is no such file, or it is not as it was written: drivers take what they are given
// for their own, and crash.
std::string read_kept(const std::string& path);
// As a whole, or not at all.
void keep(const std::string& path, const std::string& bytes);

}  // namespace tenon_opencl
