// Embedding: a module around nn.functional.embedding.
#include "modules/initialize.hpp"
#include "modules/printed_attributes.hpp"

namespace {

using namespace nn;

struct Embedding : ModuleOf<Embedding> {
  static constexpr auto schema =
      "Embedding(int num_embeddings, int embedding_dim, int? padding_idx=None)";
  static constexpr auto forward_schema = "forward(Tensor input) -> Tensor";
  static constexpr auto samples = R"([{"num_embeddings": 4, "embedding_dim": 3}])";
  static constexpr auto doc =
      "A table of num_embeddings rows; the row padding_idx begins as zeros and stays so.";

  Parameter weight{*this, "weight"};

  Embedding(int64_t num_embeddings, int64_t embedding_dim, std::optional<int64_t> padding_idx) {
    check_size("Embedding", "num_embeddings", num_embeddings, 0);
    check_size("Embedding", "embedding_dim", embedding_dim, 0);
    const tenon::NoGrad no_grad;
    const Tensor table = tenon::empty_tensor({num_embeddings, embedding_dim}).normal_();
    if (padding_idx) {
      if (*padding_idx < -num_embeddings || *padding_idx >= num_embeddings) {
        throw tenon::ValueError("Embedding: padding_idx must name one of the " +
                                std::to_string(num_embeddings) + " rows, got " +
                                std::to_string(*padding_idx));
      }
      tenon::fill_elements(table.select(0, *padding_idx), 0);
    }
    weight = table;
  }
  Tensor forward(const Tensor& input) const {
    return tenon::nn::functional::embedding(input, weight, (*this)["padding_idx"_arg]);
  }
  std::string extra_repr() const {
    return PrintedAttributes()
        .value((*this)["num_embeddings"_arg])
        .value((*this)["embedding_dim"_arg])
        .unless({}, "padding_idx", (*this)["padding_idx"_arg])
        .text();
  }
};

}  // namespace
TENON_MODULE(Embedding)
