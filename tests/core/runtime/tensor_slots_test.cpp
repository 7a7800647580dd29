// Tensors and their files as plugins make them.

#include "core/base/json.hpp"
#include "core/dispatch/call/running_calls.hpp"
#include "core/runtime/runtime.hpp"
#include "tests/core/dispatch/plugin.hpp"
#include "tests/core/plugin/support.hpp"
#include "tests/core/runtime/slot_support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

const Services& slots() { return host_services(); }

// The tensor that a slot of this form makes, or its message.
template <class Call>
TensorRef made(Call&& call) {
  tenon_tensor* tensor = nullptr;
  CHECK(message_of_slot(TENON_OK, [&](tenon_error** error) { return call(&tensor, error); }) == "");
  return TensorRef::take(tensor);
}
template <class Call>
std::string refused(tenon_status kind, Call&& call) {
  tenon_tensor* tensor = nullptr;
  const std::string message =
      message_of_slot(kind, [&](tenon_error** error) { return call(&tensor, error); });
  CHECK(tensor == nullptr);
  return message;
}

int released = 0;

}  // namespace

TEST_SUITE("runtime/tensor_slots") {
  TEST_CASE("memory that is wrapped is released once, after its last view") {
    float data[6] = {1, 2, 3, 4, 5, 6};
    const int64_t shape[] = {2, 3}, strides[] = {3, 1}, row[] = {3}, step[] = {1};
    released = 0;
    {
      TensorRef view;
      {
        const TensorRef whole = made([&](tenon_tensor** result, tenon_error** error) {
          return slots().tensors.wrap(
              TENON_F32, 2, shape, strides, data, &released,
              [](void* count) { ++*static_cast<int*>(count); }, result, error);
        });
        view = made([&](tenon_tensor** result, tenon_error** error) {
          return slots().tensors.alias(whole.get(), 1, row, step, 3, result, error);
        });
        CHECK(slots().tensors.shares_storage(whole.get(), view.get()) == 1);
        CHECK(slots().tensors.storage_number(whole.get()) ==
              slots().tensors.storage_number(view.get()));
      }
      CHECK(released == 0);
      CHECK(read(*view) == std::vector<float>{4, 5, 6});
    }
    CHECK(released == 1);
  }

  TEST_CASE("what is not a rank, a dtype or a tensor is refused, and nothing is given") {
    const int64_t shape[] = {2}, strides[] = {1};
    const TensorRef tensor = floats({1, 2});
    CHECK(has(refused(TENON_ERROR_VALUE,
                      [&](tenon_tensor** result, tenon_error** error) {
                        return slots().tensors.empty(TENON_F32, -1, shape, result, error);
                      }),
              "not -1"));
    CHECK(has(refused(TENON_ERROR_VALUE,
                      [&](tenon_tensor** result, tenon_error** error) {
                        return slots().tensors.alias_as(tensor.get(), 63, 1, shape, strides, 0,
                                                        result, error);
                      }),
              "63"));
    CHECK(refused(TENON_ERROR_ARGUMENT, [&](tenon_tensor** result, tenon_error** error) {
            return slots().tensors.alias(nullptr, 1, shape, strides, 0, result, error);
          }) == "the tensor to view is null");
    Plugin plugin{"tensor_slots", {}, {}};
    plugin.type("TensorSlotsLike");
    plugin.commit(TypeTable::process());
    const TensorRef like =
        make_dataless(TENON_F32, shape, TypeTable::process().find("TensorSlotsLike")->id);
    const std::string without =
        " must be Tensor, not TensorSlotsLike, which has no data; convert it first";
    CHECK(message_of_slot(TENON_ERROR_TYPE, [&](tenon_error** error) {
            return slots().tensors.copy(tensor.get(), like.get(), error);
          }) == "the source of a copy" + without);
    CHECK(message_of_slot(TENON_ERROR_TYPE, [&](tenon_error** error) {
            const tenon_value one = integer(1);
            return slots().tensors.fill(like.get(), &one, error);
          }) == "the tensor to fill" + without);
  }

  TEST_CASE("filling what is new changes no version, filling what others hold does") {
    const tenon_value one = integer(1);
    const auto fill = [&](Tensor& tensor) {
      CHECK(message_of_slot(TENON_OK, [&](tenon_error** error) {
              return slots().tensors.fill(&tensor, &one, error);
            }) == "");
      return slots().tensors.version(&tensor);
    };
    const TensorRef alone = floats({1, 2});
    CHECK(fill(*alone) == 0);
    const TensorRef shared = floats({1, 2});
    const TensorRef other(shared);
    CHECK(fill(*shared) == 1);
    const TensorRef viewed = floats({1, 2});
    const TensorRef view = make_detached(*viewed);
    CHECK(fill(*viewed) == 1);
    // A number by which a cache may know its contents.
    const TensorRef numbered = floats({1, 2});
    CHECK(slots().tensors.storage_number(numbered.get()) != 0);
    CHECK(fill(*numbered) == 1);
    CHECK(slots().tensors.version(nullptr) == 0);
    CHECK(slots().tensors.storage_number(nullptr) == 0);
  }

  TEST_CASE("data of another tensor is copied or shared, and counts as a change in place") {
    const TensorRef tensor = floats({1, 2}), value = floats({3, 4});
    const TensorRef view = make_alias(*tensor, tensor->shape(), tensor->strides(), 0);
    const auto set = [&](const Tensor& data, int32_t share) {
      return [&data, &tensor, share](tenon_error** error) {
        return slots().tensors.set_data(tensor.get(), &data, share, error);
      };
    };
    const uint32_t version = tensor->version();
    CHECK(message_of_slot(TENON_OK, set(*value, 0)) == "");
    CHECK(read(*view) == std::vector<float>{3, 4});
    CHECK(tensor->version() > version);
    CHECK(message_of_slot(TENON_OK, set(*value, 1)) == "");
    CHECK(tensor->storage == value->storage);
    CHECK(message_of_slot(TENON_ERROR_VALUE, set(*floats({1}), 0)) ==
          "a f32 tensor of shape [2] cannot get the data of a f32 of [1]");
    const int64_t two = 2;
    const TensorRef doubles = make_zeros(TENON_F64, {&two, 1});
    CHECK(message_of_slot(TENON_ERROR_VALUE, set(*doubles, 1)) ==
          "a f32 tensor of shape [2] cannot get the data of a f64 of [2]");
  }

  TEST_CASE("one element is read as a number, and more than one is not") {
    const TensorRef one = floats({2.5f}), two = floats({1, 2});
    Given number;
    CHECK(slots().tensors.item(one.get(), &number.value, nullptr) == TENON_OK);
    CHECK(number.value.as.number == 2.5);
    CHECK(message_of_slot(TENON_ERROR_VALUE, [&](tenon_error** error) {
            return slots().tensors.item(two.get(), &number.value, error);
          }) != "");
  }

  TEST_CASE("shapes broadcast together, and those that do not are named") {
    const TensorRef a = floats({1, 2, 3}, {3}), b = floats({1, 2}, {2, 1}), c = floats({1, 2}, {2});
    int64_t shape[TENON_MAX_RANK] = {}, rank = 0;
    const tenon_tensor* fitting[] = {a.get(), b.get()};
    CHECK(slots().tensors.broadcast_shapes(fitting, 2, shape, &rank, nullptr) == TENON_OK);
    CHECK(rank == 2);
    CHECK(shape[0] == 2);
    CHECK(shape[1] == 3);
    CHECK(slots().tensors.broadcast_shapes(nullptr, 0, shape, &rank, nullptr) == TENON_OK);
    CHECK(rank == 0);
    const tenon_tensor* other[] = {a.get(), c.get()};
    CHECK(has(message_of_slot(TENON_ERROR_VALUE,
                              [&](tenon_error** error) {
                                return slots().tensors.broadcast_shapes(other, 2, shape, &rank,
                                                                        error);
                              }),
              "[3]"));
    CHECK(rank == 0);
  }
}
