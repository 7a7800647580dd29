#include "constant_store.hpp"

#include <algorithm>

#include <tenon/dtype_name.hpp>

#include "lib/base/format.hpp"
#include "lib/base/text.hpp"
#include "saved_numbers.hpp"
#include "tensors.hpp"

TENON_NAMESPACE_BEGIN

namespace prepared {

using lib::format_text;
using lib::quote;

namespace {

Json integers(IntList list) {
  JsonArray array;
  for (const int64_t number : list) array.add(number);
  return array.json();
}

struct Layout {
  explicit Layout(const Json& document)
      : dtype(read_dtype(document["dtype"])), shape(read_integers(document["shape"])) {
    if (shape.size() > TENON_MAX_RANK)
      throw ValueError(
          format_text("a tensor has at most {} dimensions, not {}", TENON_MAX_RANK, shape.size()));
    const Json given = document["strides"];
    if (given.defined()) {
      strides = read_integers(given);
      if (strides.size() != shape.size())
        throw ValueError(
            format_text("{} strides are given for {} dimensions", strides.size(), shape.size()));
      return;
    }
    strides.assign(shape.size(), 1);
    for (size_t i = shape.size(); i-- > 1;) {
      if (__builtin_mul_overflow(strides[i], std::max<int64_t>(shape[i], 1), &strides[i - 1]))
        throw ValueError("a shape has more elements than an integer can count");
    }
  }
  IntList sizes() const { return {shape.data(), static_cast<int64_t>(shape.size())}; }
  IntList steps() const { return {strides.data(), static_cast<int64_t>(strides.size())}; }

  DType dtype;
  std::vector<int64_t> shape, strides;
};

}  // namespace

DType read_dtype(const Json& document) {
  const std::string name = document.text();
  if (const std::optional<DType> dtype = dtype_named(name)) return *dtype;
  throw ValueError(format_text("{} is not the name of a dtype", quote(name)));
}

JsonObject layout_document(const Tensor& tensor) {
  JsonObject object;
  object.set("dtype", dtype_text(tensor.dtype())).set("shape", integers(tensor.shape()));
  if (!tensor.is_contiguous()) object.set("strides", integers(tensor.strides()));
  return object;
}

Tensor read_layout(const Json& document) {
  static char place = 0;  // never read
  const Layout layout(document);
  return stand_in(
      wrap_buffer(&place, layout.sizes(), layout.steps(), layout.dtype, nullptr, nullptr));
}

Json ConstantStore::add(const Tensor& tensor, const std::string& name) {
  JsonObject object = layout_document(tensor);
  if (tensor.numel() == 0) return object.json();
  int64_t low = 0, high = 0;  // the places of the first and the last element in memory
  for (int64_t d = 0; d < tensor.dim(); ++d) {
    const int64_t reach = (tensor.shape()[d] - 1) * tensor.strides()[d];
    (reach < 0 ? low : high) += reach;
  }
  object.set("tensor", add_memory(tensor, low, high - low + 1, name));
  if (low != 0) object.set("offset", -low);
  return object.json();
}

std::string ConstantStore::add_memory(const Tensor& tensor, int64_t low, int64_t count,
                                      const std::string& name) {
  const int64_t size = element_size(tensor.dtype());
  const void* const begin = static_cast<const char*>(tensor.view_record().data) + low * size;
  const auto key = std::make_tuple(begin, count, tensor.dtype());
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  std::string own = name;
  for (size_t i = tensors_.size(); own.empty() || names_.count(own) != 0; ++i)
    own = format_text("constant.{}", i);
  constexpr int64_t line = constant_alignment;
  const int64_t filled = (count * size + line - 1) / line * line / size, one = 1;
  const Tensor memory = alias_tensor(tensor, IntList(&count, 1), IntList(&one, 1), low);
  Tensor stored = memory;
  if (filled != count) {
    stored = empty_tensor({filled}, tensor.dtype());
    std::fill_n(static_cast<char*>(stored.view_record().data), filled * size, char{0});
    copy_elements(alias_tensor(stored, IntList(&count, 1), IntList(&one, 1), 0), memory);
  }
  tensors_.emplace_back(own, std::move(stored));
  kept_.push_back(tensor);
  names_.insert(own);
  known_.emplace(key, own);
  return own;
}

Tensor StoredConstants::find(const Json& document) const {
  const Layout layout(document);
  if (!document["tensor"].defined()) {
    if (std::find(layout.shape.begin(), layout.shape.end(), 0) == layout.shape.end())
      throw ValueError("a constant with elements names no tensor");
    return empty_tensor(layout.sizes(), layout.dtype);
  }
  const std::string name = document["tensor"].text();
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) throw ValueError(format_text("it has no tensor {}", quote(name)));
  if (found->second.dtype() != layout.dtype)
    throw ValueError(format_text("tensor {} is of {}, its constant of {}", quote(name),
                                 dtype_text(found->second.dtype()), dtype_text(layout.dtype)));
  const Json offset = document["offset"];
  return alias_tensor(found->second, layout.sizes(), layout.steps(),
                      offset.defined() ? read_integer(offset, 0, INT64_MAX, "an offset") : 0);
}

}  // namespace prepared

TENON_NAMESPACE_END
