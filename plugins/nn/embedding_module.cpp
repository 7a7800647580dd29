// Embedding: a module around nn.functional.embedding.
#include "initialize.hpp"

namespace {

using namespace nn;

struct Embedding {
  static constexpr auto schema =
      "Embedding(int num_embeddings, int embedding_dim, int? padding_idx=None)";
  static constexpr auto samples = R"([{"num_embeddings": 4, "embedding_dim": 3}])";
  static constexpr auto doc =
      "A table of num_embeddings rows; the row padding_idx begins as zeros and stays so.";

  static void create(Module& self, int64_t num_embeddings, int64_t embedding_dim,
                     std::optional<int64_t> padding_idx) {
    check_size("Embedding", "num_embeddings", num_embeddings, 0);
    check_size("Embedding", "embedding_dim", embedding_dim, 0);
    const tenon::NoGrad no_grad;
    const Tensor weight = tenon::empty_tensor({num_embeddings, embedding_dim}).normal_();
    if (padding_idx) {
      if (*padding_idx < -num_embeddings || *padding_idx >= num_embeddings) {
        throw tenon::ValueError("Embedding: padding_idx must name one of the " +
                                std::to_string(num_embeddings) + " rows, got " +
                                std::to_string(*padding_idx));
      }
      tenon::fill_elements(weight.select(0, *padding_idx), 0);
    }
    self.register_parameter("weight", weight);
  }
  static Tensor forward(const ModuleOf<Embedding>& self, const Tensor& input) {
    return tenon::nn::functional::embedding(input, self.tensor("weight"), self["padding_idx"_arg]);
  }
  static std::string extra_repr(const ModuleOf<Embedding>& self) {
    const auto padding_idx = self["padding_idx"_arg];
    return std::to_string(self["num_embeddings"_arg]) + ", " +
           std::to_string(self["embedding_dim"_arg]) +
           (padding_idx ? ", padding_idx=" + std::to_string(*padding_idx) : "");
  }
};

}  // namespace
TENON_MODULE(Embedding)
