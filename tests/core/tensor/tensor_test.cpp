// Tensors: layout, views, bounds, lifetime.
#include "core/tensor/tensor.hpp"

#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "core/base/error.hpp"
#include "core/tensor/dtype.hpp"

using namespace tenon::core;

namespace {

using Values = std::vector<int64_t>;

Values values(Shape shape) { return {shape.begin(), shape.end()}; }

std::string fault(auto&& body) {
  try {
    body();
  } catch (const Error& error) {
    CHECK(error.kind == TENON_ERROR_VALUE);
    return error.message;
  }
  return "";
}

}  // namespace

TEST_SUITE("tensor") {
  TEST_CASE("the handle's address is its view's") {
    const TensorRef tensor = make_empty(TENON_F32, Values{2});
    CHECK(tenon_tensor_get_view(tensor.get()) == &tensor->view);
  }

  TEST_CASE("a fresh tensor is contiguous, aligned, and a plain leaf") {
    const TensorRef tensor = make_empty(TENON_I16, Values{2, 3, 4});
    CHECK(values(tensor->shape()) == Values{2, 3, 4});
    CHECK(values(tensor->strides()) == Values{12, 4, 1});
    CHECK(tensor->view.count == 24);
    CHECK(tensor->view.dtype == TENON_I16);
    CHECK(tensor->view.flags == TENON_TENSOR_CONTIGUOUS);
    CHECK(tensor->view.type == 0);
    CHECK(reinterpret_cast<uintptr_t>(tensor->view.data) % 64 == 0);
    CHECK(tensor->storage->bytes == 48);
    CHECK(tensor->version() == 0);
    CHECK(tensor->node == nullptr);
    CHECK(tensor->meta == nullptr);
    CHECK(tensor->references == 1);
  }

  TEST_CASE("tensors of rank 0, of no elements and of the highest rank") {
    CHECK(make_empty(TENON_F64, {})->view.count == 1);
    const TensorRef empty = make_empty(TENON_F32, Values{2, 0, 3});
    CHECK(empty->view.count == 0);
    CHECK(empty->view.data == nullptr);
    CHECK(empty->storage != nullptr);
    Values deep(16, 1);
    deep[3] = 2;
    deep[15] = 3;
    const TensorRef high = make_empty(TENON_F32, deep);
    CHECK(values(high->shape()) == deep);
    CHECK(high->view.strides[3] == 3);
    CHECK(high->view.strides[0] == 6);
  }

  TEST_CASE("shapes and dtypes that cannot be are refused") {
    CHECK(fault([] {
            make_empty(TENON_F32, Values{2, -3});
          }) == "negative size -3 in shape [2, -3]");
    CHECK(fault([] { make_empty(TENON_F32, Values(17, 1)); }) ==
          "a shape has at most 16 dimensions, this one has 17");
    CHECK(fault([] { make_empty(TENON_DTYPE_NONE, Values{2}); }).find("unknown dtype code 0") == 0);
    CHECK(fault([] { make_empty(250, Values{2}); }).find("unknown dtype code 250") == 0);
    CHECK(fault([] {
            make_empty(TENON_F64, Values{int64_t{1} << 60, 4});
          }) ==
          "a f64 tensor of shape [1152921504606846976, 4] has more bytes than can be addressed");
    CHECK(fault([] {
            make_empty(TENON_F32, Values{INT64_MAX, INT64_MAX});
          }).find("more elements") != std::string::npos);
  }

  TEST_CASE("views share storage and version, and keep it alive") {
    TensorRef base = make_empty(TENON_F32, Values{3, 4});
    for (int i = 0; i < 12; ++i) static_cast<float*>(base->view.data)[i] = static_cast<float>(i);
    const TensorRef transposed = make_alias(*base, Values{4, 3}, Values{1, 4}, 0);
    CHECK_FALSE(transposed->contiguous());
    const TensorRef row = make_alias(*base, Values{4}, Values{1}, 4);
    CHECK(row->contiguous());
    const TensorRef reversed = make_alias(*row, Values{4}, Values{-1}, 3);
    const TensorRef repeated = make_alias(*row, Values{5, 4}, Values{0, 1}, 0);
    const TensorRef scalar = make_alias(*row, {}, {}, 2);
    base->storage->version = 5;
    base = TensorRef();
    CHECK(row->version() == 5);
    CHECK(static_cast<float*>(row->view.data)[0] == 4);
    CHECK(static_cast<float*>(reversed->view.data)[0] == 7);
    CHECK(static_cast<float*>(scalar->view.data)[0] == 6);
    CHECK(scalar->contiguous());
    CHECK_FALSE(repeated->contiguous());
    CHECK(transposed->storage == row->storage);
  }

  TEST_CASE("views outside of the storage are refused") {
    const TensorRef base = make_empty(TENON_F32, Values{3, 4});
    CHECK(fault([&] { make_alias(*base, Values{13}, Values{1}, 0); }) ==
          "a view of shape [13], strides [1] and offset 0 is outside of its storage of 12 "
          "elements");
    CHECK(fault([&] { make_alias(*base, Values{4}, Values{1}, 9); }) != "");
    CHECK(fault([&] { make_alias(*base, Values{4}, Values{-1}, 2); }) != "");
    CHECK(fault([&] { make_alias(*base, Values{1}, Values{1}, -1); }) != "");
    CHECK(fault([&] { make_alias(*base, Values{3}, Values{INT64_MAX}, 0); }) != "");
    CHECK(fault([&] { make_alias(*base, Values{1}, Values{1}, INT64_MAX); }) != "");
    CHECK(fault([&] {
            make_alias(*base, Values{2, 2}, Values{1}, 0);
          }) == "shape [2, 2] and strides [1] differ in their number of dimensions");
    // Without elements there is nothing to reach.
    CHECK(make_alias(*base, Values{0, 5}, Values{1, 1}, 100)->view.data == nullptr);
    const TensorRef whole = make_alias(*base, Values{12}, Values{1}, 0);
    CHECK(fault([&] {
            make_alias(*make_alias(*whole, Values{2}, Values{1}, 10), Values{3}, Values{1}, 0);
          }) != "");
    CHECK(make_alias(*make_alias(*whole, Values{2}, Values{1}, 10), Values{12}, Values{1}, -10)
              ->view.data == base->view.data);
  }

  TEST_CASE("foreign memory is released once, when the last view is gone") {
    int released = 0;
    float memory[6] = {0, 1, 2, 3, 4, 5};
    const auto release = [](void* owner) { ++*static_cast<int*>(owner); };
    {
      TensorRef tensor = make_wrapped(TENON_F32, Values{2, 3}, {}, memory, &released, release);
      CHECK(tensor->contiguous());
      const TensorRef view = make_alias(*tensor, Values{3}, Values{1}, 3);
      tensor = TensorRef();
      CHECK(released == 0);
      CHECK(static_cast<float*>(view->view.data)[0] == 3);
    }
    CHECK(released == 1);
    {
      const TensorRef backwards =
          make_wrapped(TENON_F32, Values{6}, Values{-1}, memory + 5, &released, release);
      CHECK(backwards->storage->data == reinterpret_cast<char*>(memory));
      CHECK(backwards->storage->bytes == 24);
      CHECK(fault([&] { make_alias(*backwards, Values{2}, Values{1}, 0); }) != "");
    }
    CHECK(released == 2);
    CHECK(fault([&] { make_wrapped(TENON_F32, Values{2}, {}, nullptr, &released, release); }) ==
          "the memory to wrap is null, but shape [2] has elements");
    CHECK(fault([&] {
            make_wrapped(TENON_F32, Values{2}, Values{1, 1}, memory, &released, release);
          }) != "");
    CHECK(released == 2);
    make_wrapped(TENON_F32, Values{0}, {}, nullptr, &released, release);
    CHECK(released == 3);
  }

  TEST_CASE("a shape alone has no storage") {
    const TensorRef base = make_empty(TENON_F32, Values{2, 3});
    const TensorRef transposed = make_alias(*base, Values{3, 2}, Values{1, 3}, 0);
    const TensorRef shape = make_shape_only(*transposed);
    CHECK(shape->has_flag(TENON_TENSOR_SHAPE_ONLY));
    CHECK(values(shape->shape()) == Values{3, 2});
    CHECK(values(shape->strides()) == Values{2, 1});
    CHECK(shape->view.count == 6);
    CHECK(shape->view.data == nullptr);
    CHECK(shape->version() == 0);
    CHECK(make_alias(*shape, Values{6}, Values{1}, 0)->has_flag(TENON_TENSOR_SHAPE_ONLY));
  }

  TEST_CASE("detached tensors keep layout and type, and lose history") {
    struct Node : GraphNode {
      int* destroyed = nullptr;
    };
    int destroyed = 0;
    {
      const TensorRef tensor = make_empty(TENON_F32, Values{2, 3});
      auto* node = new Node;
      node->destroyed = &destroyed;
      node->destroy = [](GraphNode* base) noexcept {
        auto* own = static_cast<Node*>(base);
        ++*own->destroyed;
        delete own;
      };
      tensor->node = node;
      tensor->view.type = 3;
      tensor->view.flags |=
          TENON_TENSOR_REQUIRES_GRAD | TENON_TENSOR_TYPED | TENON_TENSOR_READ_ONLY;
      const TensorRef detached = make_detached(*tensor);
      CHECK(detached->node == nullptr);
      CHECK(detached->view.type == 3);
      CHECK(detached->view.flags ==
            (TENON_TENSOR_CONTIGUOUS | TENON_TENSOR_TYPED | TENON_TENSOR_READ_ONLY));
      CHECK(detached->storage == tensor->storage);
      const TensorRef view = make_alias(*tensor, Values{6}, Values{1}, 0);
      CHECK(view->view.flags == (TENON_TENSOR_CONTIGUOUS | TENON_TENSOR_READ_ONLY));
      CHECK(destroyed == 0);
    }
    CHECK(destroyed == 1);
  }

  TEST_CASE("the last release also ends the autograd state") {
    struct Meta : AutogradMeta {
      explicit Meta(int* count) : ended(count) {}
      ~Meta() override { ++*ended; }
      int* ended;
    };
    int ended = 0;
    const TensorRef other = [&] {
      TensorRef tensor = make_empty(TENON_F32, Values(9, 1));
      tensor->meta = new Meta(&ended);
      return tensor;
    }();
    CHECK(other->references == 1);
    TensorRef shared = other;
    CHECK(other->references == 2);
    shared = TensorRef();
    CHECK(ended == 0);
    const_cast<TensorRef&>(other) = TensorRef();
    CHECK(ended == 1);
  }

  TEST_CASE("threads may share handles and views") {
    const TensorRef base = make_empty(TENON_F32, Values{64});
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([base] {
        for (int k = 0; k < 2000; ++k) {
          const TensorRef shared = base;
          const TensorRef view = make_alias(*shared, Values{8}, Values{2}, k % 32);
          if (view->storage != base->storage)
            throw Error(TENON_ERROR_INTERNAL, "view of another storage");
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(base->references == 1);
    CHECK(base->storage->references == 1);
  }
}
