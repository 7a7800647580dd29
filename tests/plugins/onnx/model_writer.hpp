// Small ONNX files for tests, written with protozero.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <protozero/pbf_writer.hpp>

namespace model_writer {

using Message = std::string;

class Fields {
 public:
  explicit Fields(Message begun = {}) : bytes_(std::move(begun)) {}
  Fields& text(uint32_t field, const std::string& value) {
    protozero::pbf_writer(bytes_).add_bytes(field, value);
    return *this;
  }
  Fields& number(uint32_t field, int64_t value) {
    protozero::pbf_writer(bytes_).add_int64(field, value);
    return *this;
  }
  Fields& real(uint32_t field, float value) {
    protozero::pbf_writer(bytes_).add_float(field, value);
    return *this;
  }
  operator Message() const { return bytes_; }

 private:
  std::string bytes_;
};

inline Message attribute(const std::string& name, int64_t value) {
  return Fields().text(1, name).number(3, value).number(20, 2);
}
inline Message attribute(const std::string& name, float value) {
  return Fields().text(1, name).real(2, value).number(20, 1);
}
inline Message integers_attribute(const std::string& name, const std::vector<int64_t>& values) {
  Fields fields;
  for (const int64_t value : values) fields.number(8, value);
  return fields.text(1, name).number(20, 7);
}
inline Message floats_attribute(const std::string& name, const std::vector<float>& values) {
  Fields fields;
  for (const float value : values) fields.real(7, value);
  return fields.text(1, name).number(20, 6);
}
inline Message tensor_attribute(const std::string& name, const Message& tensor) {
  return Fields().text(1, name).text(5, tensor).number(20, 4);
}
inline Message graph_attribute(const std::string& name, const Message& graph) {
  return Fields().text(1, name).text(6, graph).number(20, 5);
}
inline Message reference(const std::string& name, const std::string& of, int64_t type) {
  return Fields().text(1, name).text(21, of).number(20, type);
}

inline Message node(const std::string& type, const std::vector<std::string>& inputs,
                    const std::vector<std::string>& outputs,
                    const std::vector<Message>& attributes = {}, const std::string& domain = "",
                    const std::string& name = "") {
  Fields fields;
  for (const std::string& one : inputs) fields.text(1, one);
  for (const std::string& one : outputs) fields.text(2, one);
  if (!name.empty()) fields.text(3, name);
  fields.text(4, type);
  for (const Message& one : attributes) fields.text(5, one);
  if (!domain.empty()) fields.text(7, domain);
  return fields;
}

// A tensor of floats.
inline Message tensor(const std::string& name, const std::vector<int64_t>& dims,
                      const std::vector<float>& values) {
  Fields fields;
  for (const int64_t size : dims) fields.number(1, size);
  const std::string raw(reinterpret_cast<const char*>(values.data()), values.size() * 4);
  return fields.number(2, 1).text(8, name).text(9, raw);
}
inline Message integer_tensor(const std::string& name, const std::vector<int64_t>& dims,
                              const std::vector<int64_t>& values) {
  Fields fields;
  for (const int64_t size : dims) fields.number(1, size);
  const std::string raw(reinterpret_cast<const char*>(values.data()), values.size() * 8);
  return fields.number(2, 7).text(8, name).text(9, raw);
}
inline Message external_tensor(const std::string& name, const std::vector<int64_t>& dims,
                               const std::string& location) {
  Fields fields;
  for (const int64_t size : dims) fields.number(1, size);
  const Message entry = Fields().text(1, "location").text(2, location);
  return fields.number(2, 1).text(8, name).text(13, entry).number(14, 1);
}

struct Graph {
  std::vector<Message> nodes;
  std::vector<std::string> inputs, outputs;
  std::vector<Message> initializers = {};

  Message message() const {
    Fields fields;
    for (const Message& one : nodes) fields.text(1, one);
    for (const Message& one : initializers) fields.text(5, one);
    const auto info = [](const std::string& name) -> Message {
      const Message type = Fields().text(1, Fields().number(1, 1));
      return Fields().text(1, name).text(2, type);
    };
    for (const std::string& one : inputs) fields.text(11, info(one));
    for (const std::string& one : outputs) fields.text(12, info(one));
    return fields;
  }
};

inline Message function(const std::string& domain, const std::string& name,
                        const std::vector<std::string>& inputs,
                        const std::vector<std::string>& outputs,
                        const std::vector<Message>& nodes) {
  Fields fields;
  fields.text(1, name).text(10, domain);
  for (const std::string& one : inputs) fields.text(4, one);
  for (const std::string& one : outputs) fields.text(5, one);
  for (const Message& one : nodes) fields.text(7, one);
  return fields;
}

inline Message model(const Graph& graph, int64_t opset = 17,
                     const std::vector<Message>& functions = {}) {
  Fields fields;
  fields.number(1, 8).text(7, graph.message()).text(8, Fields().number(2, opset));
  fields.text(8, Fields().text(1, "acme").number(2, 1));
  for (const Message& one : functions) fields.text(25, one);
  return fields;
}

// A folder for files of one test, removed with it.
class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / unique_name()) {
    std::filesystem::create_directories(path_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
    return path_ / name;
  }

 private:
  static std::string unique_name() {
    static int count = 0;
    return "tenon_onnx_" + std::to_string(getpid()) + "_" + std::to_string(count++);
  }
  std::filesystem::path path_;
};

}  // namespace model_writer
