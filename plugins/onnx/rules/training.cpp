// Operators of training, and of n-grams.
#include <tenon/plugin.hpp>
#include <tenon/conversion.hpp>

TENON_CONVERSIONS(optimizers, "onnx", R"(
ai.onnx.preview.training.Adagrad:1(R, T, inputs...; decay_factor=0.0, epsilon=1e-6, norm_coefficient=0.0) = onnx.adagrad(R, T, inputs, decay_factor=decay_factor, epsilon=epsilon, norm_coefficient=norm_coefficient)...
ai.onnx.preview.training.Adam:1(R, T, inputs...; alpha=0.9, beta=0.999, epsilon=1e-6, norm_coefficient=0.0, norm_coefficient_post=0.0) = onnx.adam(R, T, inputs, alpha=alpha, beta=beta, epsilon=epsilon, norm_coefficient=norm_coefficient, norm_coefficient_post=norm_coefficient_post)...
ai.onnx.preview.training.Momentum:1(R, T, inputs...; alpha, beta, mode, norm_coefficient) = onnx.momentum(R, T, inputs, alpha=alpha, beta=beta, mode=mode, norm_coefficient=norm_coefficient)...
)")

TENON_CONVERSIONS(grams, "onnx", R"(
TfIdfVectorizer:9(X; max_gram_length, max_skip_count, min_gram_length, mode, ngram_counts, ngram_indexes, pool_int64s, weights?) = onnx.tfidf_vectorizer(X, max_gram_length=max_gram_length, max_skip_count=max_skip_count, min_gram_length=min_gram_length, mode=mode, ngram_counts=ngram_counts, ngram_indexes=ngram_indexes, pool_int64s=pool_int64s, weights=weights)
)")
