// Stage "files" of types: an object that was saved whole and loaded is what it was.
#include <filesystem>

#include <tenon/runtime.hpp>
#include <tenon/state/tensor_file.hpp>
#include <tenon/typed_tensor.hpp>

#include "format.hpp"
#include "type_check.hpp"

namespace cli {

using tenon::Tensor;

namespace {

tenon_type_parts parts_of(const Tensor& object) {
  tenon_type_parts parts{sizeof parts, 0, nullptr, nullptr, 0};
  tenon::detail::check(tenon::service::types().parts, object.view_record().type, &parts);
  return parts;
}

// The difference of an object from its file; empty: none.
std::string difference_in_file(const TypeCheck& check, const Tensor& object,
                               const std::string& file) {
  for (const auto& [name, loaded] : tenon::state::load_tensors(file)) {
    if (name != "object") continue;
    // Files name no memory: a tensor in separate memory comes back as a plain one.
    if ((parts_of(object).flags & TENON_PARTS_OWN_MEMORY) != 0) {
      if (tenon::type_name(loaded) != "Tensor")
        return format_text(" is a {}", tenon::type_name(loaded));
      return difference(tenon::ensure_tensor(object.detach()), loaded, kExact);
    }
    if (tenon::type_name(loaded) != check.type)
      return format_text(" is a {}", tenon::type_name(loaded));
    if (loaded.text() != object.text())
      return format_text(" is printed as\n{}\nand before as\n{}", loaded.text(), object.text());
    return difference(object, loaded, kExact);
  }
  return " is not in the file";
}

}  // namespace

void check_object_files(TypeCheck& check, const ObjectSource& source) {
  if (check.found.count("text") > 0 || check.found.count("conversion") > 0) return;
  const std::string file = format_text("{}/object.safetensors", check.settings.folder);
  const Tensor object = check.make(source);
  try {
    tenon::state::save_tensors(file, {{"object", object.detach()}});
  } catch (const tenon::TypeError& error) {  // with what to do about it
    check.listener.note(format_text("not saved whole: {}", error.what()));
    return;
  } catch (const tenon::Error& error) {
    check.find("stored", format_text("it is not saved: {}", error.what()), source);
    return;
  }
  try {
    const std::string what = difference_in_file(check, object, file);
    if (!what.empty())
      check.find("stored", format_text("saved and loaded, the object{}", what), source);
  } catch (const tenon::Error& error) {
    check.find("stored", format_text("what was saved is not loaded: {}", error.what()), source);
  }
  std::filesystem::remove(file);
}

}  // namespace cli
