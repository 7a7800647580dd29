#include "call_document.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <tuple>

#include <tenon/dtype_name.hpp>
#include <tenon/grad_mode.hpp>
#include <tenon/typed_tensor.hpp>

#include "call_text.hpp"
#include "lib/base/format.hpp"
#include "lib/base/text.hpp"

TENON_NAMESPACE_BEGIN

namespace record {

namespace {

constexpr int64_t kMostSpan = int64_t{1} << 40;  // elements, far beyond any memory

// Dtype of the elements in a file: complex ones as their parts, packed ones as f32.
DType stored_dtype(DType dtype) { return is_narrow(dtype) ? f32 : real_dtype(dtype); }
int64_t parts_of(DType dtype) { return is_complex(dtype) ? 2 : 1; }

// From the first to the last element in memory.
struct Span {
  int64_t first = 0, count = 0;  // `first`: place of element [0, 0, ...] in it
};
// None where the numbers are not those of a tensor.
std::optional<Span> span_of(const std::vector<int64_t>& shape,
                            const std::vector<int64_t>& strides) {
  int64_t low = 0, high = 0;
  bool empty = false;
  for (const int64_t size : shape) {
    if (size < 0 || size > kMostSpan) return {};
    empty = empty || size == 0;
  }
  for (size_t d = 0; d < shape.size() && !empty; ++d) {
    int64_t reach = 0;
    if (__builtin_mul_overflow(shape[d] - 1, strides[d], &reach)) return {};
    if (__builtin_add_overflow(reach < 0 ? low : high, reach, reach < 0 ? &low : &high)) return {};
    if (low < -kMostSpan || high > kMostSpan) return {};
  }
  return Span{-low, empty ? 0 : high - low + 1};
}

class Packer {
 public:
  explicit Packer(int64_t most_bytes) : most_(most_bytes), left_(most_bytes) {}

  Json value(const tenon_value& value) {
    JsonObject object;
    switch (value.tag) {
      case TENON_VALUE_NONE:
        return object.set("none", true).json();
      case TENON_VALUE_BOOL:
        return object.set("bool", value.as.integer != 0).json();
      case TENON_VALUE_INT:
        return object.set("int", value.as.integer).json();
      case TENON_VALUE_FLOAT:
        return object.set("float", number_text(value.as.number)).json();
      case TENON_VALUE_DTYPE:
        return object.set("dtype", dtype_text(static_cast<DType>(value.as.integer))).json();
      case TENON_VALUE_STRING:
        return object.set("str", std::string_view(value.as.string, value.length)).json();
      case TENON_VALUE_TENSOR:
        return object.set("tensor", tensor(value.as.tensor)).json();
      case TENON_VALUE_JSON:
        return object.set("json", Json::borrow(value.as.json)).json();
      case TENON_VALUE_INT_LIST:
        return list("ints", value, [&](uint32_t i) { return value.as.integers[i]; });
      case TENON_VALUE_FLOAT_LIST:
        return list("floats", value, [&](uint32_t i) { return number_text(value.as.numbers[i]); });
      case TENON_VALUE_BOOL_LIST:
        return list("bools", value, [&](uint32_t i) { return value.as.booleans[i] != 0; });
      case TENON_VALUE_STRING_LIST:
        return list("strs", value, [&](uint32_t i) {
          const tenon_string& text = value.as.strings[i];
          return std::string(text.data, static_cast<size_t>(text.length));
        });
      case TENON_VALUE_TENSOR_LIST:
        return list("tensors", value, [&](uint32_t i) { return tensor(value.as.tensors[i]); });
      default:
        gaps.add(lib::format_text("{} is not in the file", detail::kind_text(value)));
        return object.set("other", detail::kind_text(value)).json();
    }
  }

  JsonArray gaps;
  NamedTensors tensors;

 private:
  template <class Item>
  static Json list(const char* kind, const tenon_value& value, const Item& item) {
    JsonArray items;
    for (uint32_t i = 0; i < value.length; ++i) items.add(item(i));
    return JsonObject().set(kind, items.json()).json();
  }

  JsonValue tensor(tenon_tensor* handle) {
    if (handle == nullptr) return {};
    const Tensor given = Tensor::borrow(handle);
    const uint32_t flags = given.view_record().flags;
    const bool typed = (flags & TENON_TENSOR_TYPED) != 0;
    const std::string text = tensor_text(handle);
    const auto lost = [&](uint32_t flag, const char* what) {
      if ((flags & flag) != 0) gaps.add(lib::format_text("{} {}", text, what));
    };
    lost(TENON_TENSOR_HAS_TANGENT, "comes back without its tangent");
    lost(TENON_TENSOR_INFERENCE, "comes back as one that was not made in inference mode");
    lost(TENON_TENSOR_READ_ONLY, "comes back as one that may be written");
    if (given.requires_grad()) lost(TENON_TENSOR_VIEW, "comes back without the tensor it views");
    Tensor plain = given;
    if (typed) {
      try {
        plain = ensure_tensor(given);
      } catch (const Error& error) {
        gaps.add(lib::format_text("{}: {}", text, error.what()));
        return JsonObject().set("text", text).json();
      }
    }
    const DType dtype = plain.dtype();
    std::vector<int64_t> shape = plain.sizes();
    std::vector<int64_t> strides(plain.strides().begin(), plain.strides().end());
    const std::optional<Span> span = span_of(shape, strides);
    const int64_t bytes = span ? span->count * element_size(dtype) : 0;
    const bool kept = span && bytes <= left_ && plain.view_record().data != nullptr;
    std::string name;
    if (kept) {
      left_ -= bytes;
      note_shared(plain, *span, bytes, text);
      name = lib::format_text("{}", tensors.size());
      const Tensor all =
          alias_tensor(plain, IntList(&span->count, 1), IntList(&kOne, 1), -span->first);
      tensors.emplace_back(name, stored(all, dtype));
    } else if (plain.numel() > 0) {
      gaps.add(
          !span || plain.view_record().data == nullptr
              ? lib::format_text("elements of {} were not kept: it has none in memory", text)
              : lib::format_text("elements of {} were not kept: they take {} bytes, and {} are "
                                 "kept of a call",
                                 text, grouped(bytes), grouped(most_)));
    }
    JsonArray sizes, steps;
    for (const int64_t size : shape) sizes.add(size);
    for (const int64_t stride : strides) steps.add(stride);
    return JsonObject()
        .set("text", text)
        .set("type", typed ? JsonValue(type_name(given)) : JsonValue())
        .set("dtype", dtype_text(dtype))
        .set("shape", sizes.json())
        .set("strides", steps.json())
        .set("requires_grad", given.requires_grad())
        .set("elements", name.empty() ? JsonValue() : JsonValue(name))
        .json();
  }

  void note_shared(const Tensor& tensor, const Span& span, int64_t bytes, const std::string& text) {
    const uintptr_t begin = reinterpret_cast<uintptr_t>(tensor.view_record().data) -
                            static_cast<uintptr_t>(span.first * element_size(tensor.dtype()));
    const uintptr_t end = begin + static_cast<uintptr_t>(bytes);
    for (const auto& [other_begin, other_end, other] : memory_) {
      if (begin < other_end && other_begin < end)
        gaps.add(lib::format_text("{} and {} share memory, and come back apart", other, text));
    }
    memory_.emplace_back(begin, end, text);
  }

  // A copy, so that what the call still changes is not saved halfway.
  static Tensor stored(const Tensor& all, DType dtype) {
    if (is_complex(dtype)) {
      const int64_t count = 2 * all.numel();
      return copy(alias_tensor_as(all, real_dtype(dtype), IntList(&count, 1), IntList(&kOne, 1), 0),
                  real_dtype(dtype));
    }
    return copy(all, stored_dtype(dtype));
  }
  static Tensor copy(const Tensor& source, DType dtype) {
    Tensor result = empty_tensor(source.shape(), dtype);
    copy_elements(result, source);
    return result;
  }

  static constexpr int64_t kOne = 1;
  const int64_t most_;
  std::vector<std::tuple<uintptr_t, uintptr_t, std::string>> memory_;  // ranges that are kept
  int64_t left_;
};

[[noreturn]] void refuse(const std::string& what) { throw ValueError(what); }

std::vector<int64_t> sizes_of(const Json& list) {
  if (!list.is_array()) refuse("a tensor needs lists of sizes and strides");
  std::vector<int64_t> sizes;
  for (int64_t i = 0; i < list.size(); ++i) {
    if (!list[i].is_integer()) refuse("sizes and strides of a tensor must be whole numbers");
    sizes.push_back(list[i].integer());
  }
  return sizes;
}

// A tensor of a document, checked.
struct StoredTensor {
  DType dtype = DType::none;
  std::vector<int64_t> shape, strides;
  Span span;
  const Tensor* elements = nullptr;  // null: not kept
};
StoredTensor stored_tensor(const Json& tensor, const NamedTensors& saved) {
  StoredTensor stored;
  const std::optional<DType> dtype = dtype_named(tensor["dtype"].text());
  if (!dtype || *dtype == DType::none) refuse("a tensor has a dtype that is not known");
  stored.dtype = *dtype;
  stored.shape = sizes_of(tensor["shape"]);
  stored.strides = sizes_of(tensor["strides"]);
  if (!tensor["requires_grad"].is_bool()) refuse("a tensor needs to say whether it requires_grad");
  if (stored.shape.size() != stored.strides.size() || stored.shape.size() > TENON_MAX_RANK)
    refuse("a tensor needs as many strides as sizes, 16 at most");
  const std::optional<Span> span = span_of(stored.shape, stored.strides);
  if (!span) refuse("sizes and strides of a tensor are too large");
  stored.span = *span;
  const Json name = tensor["elements"];
  if (name.is_null()) return stored;
  for (const auto& [key, elements] : saved) {
    if (key == name.text()) stored.elements = &elements;
  }
  if (stored.elements == nullptr)
    refuse(lib::format_text("the elements {} of a tensor are not there", lib::quote(name.text())));
  const Tensor& elements = *stored.elements;
  if (elements.dim() != 1 || elements.dtype() != stored_dtype(*dtype) ||
      elements.numel() != stored.span.count * parts_of(*dtype))
    refuse(
        lib::format_text("the elements {} of a tensor are not those of its shape, strides and "
                         "dtype",
                         lib::quote(name.text())));
  return stored;
}

// A tensor whose elements the file does not have, and which has none that is known.
bool is_lost(const Json& tensor) { return tensor.is_object() && !tensor["dtype"].defined(); }

double number_of(const Json& json) {
  const std::string text = json.text();
  double number = 0;
  const auto [stop, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (fault == std::errc::invalid_argument || stop != text.data() + text.size())
    refuse(lib::format_text("{} is not a number", lib::quote(text)));
  return number;
}

const Json& of_kind(const Json& value, bool fits, const char* kind) {
  if (!fits) refuse(lib::format_text("'{}' of an argument has another kind of value", kind));
  return value;
}

// Calls visit(kind, content) for the one member of a value.
template <class Visit>
auto with_kind(const Json& value, Visit&& visit) {
  if (!value.is_object() || value.size() != 1)
    refuse("an argument must be an object with one member, its kind");
  return visit(value.key(0), value[value.key(0)]);
}

void check_value(const Json& value, const NamedTensors& tensors) {
  with_kind(value, [&](const std::string& kind, const Json& content) {
    const auto each = [&](const auto& check) {
      of_kind(content, content.is_array(), kind.c_str());
      for (int64_t i = 0; i < content.size(); ++i) check(content[i]);
    };
    const auto check_tensor = [&](const Json& tensor) {
      if (!tensor.is_null() && !is_lost(tensor)) stored_tensor(tensor, tensors);
    };
    if (kind == "bool") of_kind(content, content.is_bool(), "bool");
    if (kind == "int") of_kind(content, content.is_integer(), "int");
    if (kind == "float") number_of(content);
    if (kind == "str") of_kind(content, content.is_text(), "str");
    if (kind == "dtype" && !dtype_named(content.text())) refuse("a dtype is not known");
    if (kind == "tensor") check_tensor(content);
    if (kind == "tensors") each(check_tensor);
    if (kind == "ints") each([](const Json& item) { of_kind(item, item.is_integer(), "ints"); });
    if (kind == "floats") each([](const Json& item) { number_of(item); });
    if (kind == "bools") each([](const Json& item) { of_kind(item, item.is_bool(), "bools"); });
    if (kind == "strs") each([](const Json& item) { of_kind(item, item.is_text(), "strs"); });
    constexpr const char* kinds[] = {"none",  "bool",   "int",     "float", "dtype",
                                     "str",   "tensor", "json",    "ints",  "floats",
                                     "bools", "strs",   "tensors", "other"};
    if (std::none_of(std::begin(kinds), std::end(kinds),
                     [&](const char* one) { return kind == one; }))
      refuse(lib::format_text("{} is not a kind of argument", lib::quote(kind)));
  });
}

template <class Visit>
void each_argument(const Json& document, Visit&& visit) {
  const Json positional = document["positional"], keywords = document["keywords"];
  if (!positional.is_array() || !keywords.is_array()) refuse("the arguments must be lists");
  for (int64_t i = 0; i < positional.size(); ++i) visit(Json(), positional[i]);
  for (int64_t i = 0; i < keywords.size(); ++i) {
    if (!keywords[i]["name"].is_text()) refuse("an argument by name needs the name");
    visit(keywords[i]["name"], keywords[i]["value"]);
  }
}

std::string text_of_value(const Json& value) {
  return with_kind(value, [](const std::string& kind, const Json& content) -> std::string {
    const auto one = [&](const Json& item) -> std::string {
      if (kind == "tensor" || kind == "tensors")
        return item.is_null() ? "None" : item["text"].text();
      if (kind == "str" || kind == "strs") return lib::quote(item.text());
      if (item.is_bool()) return item.as_bool() ? "True" : "False";
      return item.is_text() ? item.text() : item.dump();
    };
    if (kind == "none") return "None";
    if (kind == "json" || !content.is_array()) return one(content);
    std::vector<std::string> items;
    constexpr int64_t most = 8;
    for (int64_t i = 0; i < std::min(content.size(), most); ++i) items.push_back(one(content[i]));
    if (content.size() > most) items.push_back(lib::format_text("... {} in all", content.size()));
    return lib::format_text("[{}]", join(items, ", "));
  });
}

}  // namespace

CallDocument document_of(const tenon_call& call, int64_t most_bytes) {
  const NoGrad no_grad;
  Packer packer(most_bytes);
  JsonArray positional, keywords;
  const bool written = call.positional != nullptr || call.keyword_count > 0;
  const tenon_value* const values = written ? call.positional : call.arguments;
  const int64_t count = written ? call.positional_count : call.argument_count;
  for (int64_t i = 0; i < count; ++i) positional.add(packer.value(values[i]));
  for (int64_t i = 0; written && i < call.keyword_count; ++i) {
    const tenon_string& name = call.keywords[i];
    keywords.add(JsonObject()
                     .set("name", std::string_view(name.data, static_cast<size_t>(name.length)))
                     .set("value", packer.value(call.keyword_values[i]))
                     .json());
  }
  return {positional.json(), keywords.json(), packer.gaps.json(), std::move(packer.tensors)};
}

void check_arguments(const Json& document, const NamedTensors& tensors) {
  each_argument(document, [&](const Json&, const Json& value) { check_value(value, tensors); });
}

std::string arguments_text(const Json& document) {
  std::vector<std::string> all;
  each_argument(document, [&](const Json& name, const Json& value) {
    all.push_back(name.defined() ? lib::format_text("{}={}", name.text(), text_of_value(value))
                                 : text_of_value(value));
  });
  return join(all, ", ");
}

KeptArguments::KeptArguments(const Json& document, const NamedTensors& tensors) : saved_(tensors) {
  each_argument(document, [&](const Json& name, const Json& value) {
    check_value(value, saved_);
    if (!name.defined()) return values.push_back(value_of(value));
    names.push_back(detail::string_of(texts_.emplace_back(name.text())));
    named.push_back(value_of(value));
  });
}

tenon_value KeptArguments::value_of(const Json& value) {
  return with_kind(value, [&](const std::string& kind, const Json& content) -> tenon_value {
    tenon_value made{};
    made.length = content.is_array() ? static_cast<uint32_t>(content.size()) : 0;
    const auto each = [&](auto& list, const auto& item) {
      for (int64_t i = 0; i < content.size(); ++i) list.push_back(item(content[i]));
      return list.data();
    };
    if (kind == "none") return made;
    if (kind == "bool") return Argument(content.as_bool()).value();
    if (kind == "int") return Argument(content.integer()).value();
    if (kind == "float") return Argument(number_of(content)).value();
    if (kind == "dtype") return Argument(*dtype_named(content.text())).value();
    if (kind == "str") return Argument(texts_.emplace_back(content.text())).value();
    if (kind == "json") return Argument(documents_.emplace_back(content)).value();
    if (kind == "tensor") {
      tenon_tensor* const tensor = tensor_of(content);
      if (tensor != nullptr) made.tag = TENON_VALUE_TENSOR;
      made.as.tensor = tensor;
      return made;
    }
    if (kind == "tensors") {
      made.tag = TENON_VALUE_TENSOR_LIST;
      made.as.tensors =
          each(lists_.emplace_back(), [&](const Json& item) { return tensor_of(item); });
    } else if (kind == "ints") {
      made.tag = TENON_VALUE_INT_LIST;
      made.as.integers =
          each(integers_.emplace_back(), [](const Json& item) { return item.integer(); });
    } else if (kind == "floats") {
      made.tag = TENON_VALUE_FLOAT_LIST;
      made.as.numbers = each(numbers_.emplace_back(), number_of);
    } else if (kind == "bools") {
      made.tag = TENON_VALUE_BOOL_LIST;
      made.as.booleans = each(truths_.emplace_back(), [](const Json& item) {
        return static_cast<uint8_t>(item.as_bool() ? 1 : 0);
      });
    } else if (kind == "strs") {
      made.tag = TENON_VALUE_STRING_LIST;
      made.as.strings = each(strings_.emplace_back(), [&](const Json& item) {
        return detail::string_of(texts_.emplace_back(item.text()));
      });
    } else {
      throw TypeError(lib::format_text(
          "the file does not have an argument of the call: {}; make it in a program",
          content.text()));
    }
    return made;
  });
}

tenon_tensor* KeptArguments::tensor_of(const Json& tensor) {
  if (tensor.is_null()) return nullptr;
  if (is_lost(tensor))
    throw TypeError(
        lib::format_text("the file does not have the elements of {}, whose type has no "
                         "conversion; make it in a program",
                         tensor["text"].text()));
  const NoGrad no_grad;
  const StoredTensor stored = stored_tensor(tensor, saved_);
  Tensor memory;
  if (stored.elements == nullptr) {
    memory = empty_tensor({stored.span.count}, stored.dtype);
    if (stored.span.count > 0 && !is_narrow(stored.dtype))
      fill_elements(memory, is_differentiable(stored.dtype) ? 1 : 0);
  } else if (is_complex(stored.dtype)) {
    constexpr int64_t one = 1;
    const Tensor own = empty_tensor({stored.span.count}, stored.dtype);
    const int64_t count = 2 * stored.span.count;
    copy_elements(
        alias_tensor_as(own, real_dtype(stored.dtype), IntList(&count, 1), IntList(&one, 1), 0),
        *stored.elements);
    memory = own;
  } else {
    memory = empty_tensor({stored.span.count}, stored.dtype);
    copy_elements(memory, *stored.elements);
  }
  Tensor made =
      alias_tensor(memory, IntList(stored.shape.data(), static_cast<int64_t>(stored.shape.size())),
                   IntList(stored.strides.data(), static_cast<int64_t>(stored.strides.size())),
                   stored.span.first);
  if (!tensor["type"].is_null()) {
    uint32_t type = 0;
    tenon_tensor* converted = nullptr;
    detail::check(service::types().find, tensor["type"].text().c_str(), &type);
    detail::check(service::types().from_plain, type, made.handle(),
                  static_cast<tenon_tensor*>(nullptr), &converted);
    made = Tensor::take(converted);
  }
  if (tensor["requires_grad"].as_bool() && is_differentiable(stored.dtype)) made.requires_grad_();
  return tensors_.emplace_back(std::move(made)).handle();
}

}  // namespace record

TENON_NAMESPACE_END
