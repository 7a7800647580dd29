// A type that wraps a tensor and carries a dictionary through every op: one handler for all.
#include <string>

#include <tenon/plugin.hpp>
#include <tenon/type_definition.hpp>

using tenon::Call, tenon::Results, tenon::Tensor;

struct MetadataTensor {
  static constexpr auto name = "MetadataTensor";
  static constexpr auto doc = "A tensor with metadata that results keep.";
  Tensor data;
  std::string metadata;

  std::string text() const { return "Metadata:\n" + metadata + "\n\ndata:\n" + data.text(); }
  Tensor to_tensor() const { return data; }

  static Results tenon_function(const Call& call) {
    // The first that has metadata; there is one, or this would not be asked.
    const MetadataTensor* first = nullptr;
    call.each_tensor([&](const Tensor& tensor) {
      if (first == nullptr) first = tenon::try_as<MetadataTensor>(tensor);
    });
    Results results = call.call_with([](const Tensor& tensor) {
      const auto* self = tenon::try_as<MetadataTensor>(tensor);
      return self == nullptr ? tensor : self->data;
    });
    results.transform(
        [&](const Tensor& tensor) { return tenon::make<MetadataTensor>(tensor, first->metadata); });
    return results;
  }
};
TENON_TYPE(MetadataTensor)

struct Make {
  static constexpr auto schema = "examples.metadata_tensor(Tensor data, str metadata) -> Tensor";
  static constexpr auto doc = "Wraps a tensor.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& data, std::string_view metadata) {
    return tenon::make<MetadataTensor>(data, std::string(metadata));
  }
};
TENON_OP(Make)

TENON_PLUGIN(metadata_tensor, "1.0.0")
