// Which images a folder or a table names, and their targets.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <tenon/plugin.hpp>

namespace data {

struct ImageList {
  std::vector<std::string> files;
  tenon::Tensor targets;  // [files]: i64 classes or whole numbers, f32 numbers; [files, 0]
  std::vector<std::string> classes;  // their names; empty where targets are numbers
};

// The images of a folder with a folder for each class, in sorted order; of a folder of images,
// which has no targets; of a CSV file with the name of an image and its target in each row, from
// the folder of the file; or the image at a path that ends in .png. `classes` are those of another
// list, where there is one. Errors name the file.
ImageList list_images(const std::string& path, bool with_targets,
                      const std::vector<std::string>& classes);

}  // namespace data
