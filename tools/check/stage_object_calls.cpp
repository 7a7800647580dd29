// Stages "object calls" and "empty objects" of types: ops get objects that have no data, and one
// without the tensors of its payload. They answer, or refuse with an error that says why.
#include <filesystem>
#include <fstream>
#include <iterator>

#include <tenon/runtime.hpp>
#include <tenon/state/tensor_file.hpp>
#include <tenon/typed_tensor.hpp>

#include "format.hpp"
#include "type_check.hpp"

namespace cli {

using tenon::Op, tenon::Tensor;

namespace {

// Every way in which an operand arrives: alone, first, second, beside a number, in a list.
struct Use {
  const char* name;
  void (*run)(const Tensor& object);
};
Tensor matrix() {
  const Tensor plain = tenon::empty_tensor({2, 2}, tenon::f32);
  tenon::fill_elements(plain, 1);
  return plain;
}
constexpr Use kUses[] = {
    {"its text", [](const Tensor& x) { x.text(); }},
    {"its conversion", [](const Tensor& x) { tenon::ensure_tensor(x); }},
    {"clone(object)", [](const Tensor& x) { Op("clone").call<Tensor>(x); }},
    {"neg(object)", [](const Tensor& x) { Op("neg").call<Tensor>(x); }},
    {"sum(object)", [](const Tensor& x) { Op("sum").call<Tensor>(x); }},
    {"add(object, object)", [](const Tensor& x) { Op("add").call<Tensor>(x, x); }},
    {"add(object, 2)", [](const Tensor& x) { Op("add").call<Tensor>(x, 2.0); }},
    {"add(tensor, object)", [](const Tensor& x) { Op("add").call<Tensor>(matrix(), x); }},
    {"cat([object, object])",
     [](const Tensor& x) {
       const std::vector<Tensor> both = {x, x};
       Op("cat").call<Tensor>(tenon::TensorList(both.data(), 2), int64_t{0});
     }},
    {"its elements", [](const Tensor& x) { x.to_vector<double>(); }}};

std::string fault_of(const Use& use, const Tensor& object) {
  try {
    use.run(object);
  } catch (const tenon::Error& error) {
    const std::string what = error.what();
    if (what.empty()) return format_text("{} is refused without a message", use.name);
    if (error.kind() == TENON_ERROR_INTERNAL || contains_text(what, "and no message") ||
        contains_text(what, "not a std::exception"))
      return format_text("{} is refused with: {}", use.name, what);
  }
  return "";
}

void use_object(TypeCheck& check, const Tensor& object, const Sample& sample) {
  const tenon::NoGrad off;
  for (const Use& use : kUses) {
    if (const std::string fault = fault_of(use, object); !fault.empty())
      check.ItemCheck::find("unexplained-error", fault, &sample);
  }
}

// The list of components that the header of a file names, made empty.
void remove_components(const std::string& path) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::string key = R"(\"components\":[)";
  const size_t begin = bytes.find(key) + key.size();
  const size_t end = bytes.find(']', begin);
  if (begin < key.size() || end == std::string::npos) return;
  file.clear();
  file.seekp(static_cast<std::streamoff>(begin));
  file << std::string(end - begin, ' ');
}

}  // namespace

void check_object_calls(TypeCheck& check, const ObjectSource& source) {
  use_object(check, check.make(source), sample_of(source));
}

// As a file gives them that is damaged, or made to do harm.
void check_empty_objects(TypeCheck& check, const ObjectSource& source) {
  const std::string file = format_text("{}/empty.safetensors", check.settings.folder);
  const Tensor object = check.make(source);
  try {
    tenon::state::save_tensors(file, {{"object", object.detach()}});
    remove_components(file);
    for (const auto& [name, loaded] : tenon::state::load_tensors(file)) {
      if (name == "object") use_object(check, loaded, sample_of(source));
    }
  } catch (const tenon::Error&) {  // it is not kept in files, or refused
  }
  std::filesystem::remove(file);
}

}  // namespace cli
