// Fuzzes the reader of ONNX files and what makes steps of them: whatever the bytes, a model is made or refused
// with a text that can be printed. Conversions are those of the plugins that the host finds. The same for the
// reader of rules of export.
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include <tenon/error.hpp>

#include "plugins/onnx/builder.hpp"
#include "plugins/onnx/export/export_rule.hpp"
#include "plugins/onnx/message_reader.hpp"

namespace {

onnx::MappedFile copy_of(const uint8_t* bytes, size_t size) {
  std::shared_ptr<char> copy(new char[size + 1], std::default_delete<char[]>());
  if (size > 0) std::memcpy(copy.get(), bytes, size);
  return {copy, size};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static onnx::Operators standard({}), engine({}, "onnxruntime");
  onnx::Operators& operators = size % 2 == 0 ? standard : engine;
  try {
    // A folder that is not there: no other file is read.
    onnx::ModelFile file("/nonexistent/model.onnx", copy_of(bytes, size));
    const onnx::BuiltModel built = onnx::build_model(file, operators, {});
    for (const onnx::Source& output : built.program.body.outputs) {
      if (output.kind == onnx::Source::Kind::frame && output.index >= built.program.frame_size)
        std::abort();
    }
  } catch (const tenon::Error& error) {
    if (std::strlen(error.what()) == 0) std::abort();
  }
  try {
    onnx::read_export_rule({reinterpret_cast<const char*>(bytes), size});
  } catch (const tenon::ValueError& error) {
    if (std::strlen(error.what()) == 0) std::abort();
  }
  return 0;
}
