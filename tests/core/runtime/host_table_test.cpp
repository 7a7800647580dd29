// The whole table, and the refusals that its groups share.
#include <vector>

#include "core/runtime/runtime.hpp"
#include "core/runtime/slots.hpp"
#include "tests/core/dispatch/plugin.hpp"
#include "tests/core/dispatch/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

TEST_SUITE("runtime/host_table") {
  TEST_CASE("the host says what it is, and leads to all services") {
    const tenon_host& host = host_table();
    CHECK(&host == &host_table());
    CHECK(host.magic == TENON_HOST_MAGIC);
    CHECK(host.size == sizeof(tenon_host));
    CHECK(host.abi_major == TENON_ABI_MAJOR);
    CHECK(host.abi_minor == TENON_ABI_MINOR);
    CHECK((host.error_set == host_services().values.error_set));
    CHECK(find_host_service("tenon.tensors") == &host_services().tensors.head);
    CHECK(find_host_service("tenon.tensor") == nullptr);
    CHECK(find_host_service("") == nullptr);
  }

  TEST_CASE("every slot of every service is filled in") {
    const auto count_of = [](const Services& services) {
      size_t count = 0;
#define COUNT_SLOTS(name, NAME)                                         \
  {                                                                     \
    const auto* words = reinterpret_cast<void* const*>(&services.name); \
    for (size_t i = 1; i < sizeof(services.name) / sizeof(void*); ++i)  \
      count += words[i] != nullptr;                                     \
  }
      TENON_SERVICES(COUNT_SLOTS)
#undef COUNT_SLOTS
      return count;
    };
    size_t slots = 0;
#define ADD_SLOTS(name, NAME) slots += sizeof(tenon_##name##_service) / sizeof(void*) - 1;
    TENON_SERVICES(ADD_SLOTS)
#undef ADD_SLOTS
    CHECK(count_of(host_services()) == slots);
  }

  TEST_CASE("a rank outside of what tensors have is refused, at both ends") {
    const int64_t sizes[TENON_MAX_RANK] = {};
    CHECK(shape_of(sizes, 0).empty());
    CHECK(shape_of(sizes, TENON_MAX_RANK).size() == TENON_MAX_RANK);
    for (const int64_t rank : {int64_t{-1}, int64_t{TENON_MAX_RANK + 1}, INT64_MIN, INT64_MAX}) {
      CHECK(has(refusal([&] { static_cast<void>(shape_of(sizes, rank)); }, TENON_ERROR_VALUE),
                "dimensions, not " + std::to_string(rank)));
    }
  }

  TEST_CASE("a list of tensors has no negative length") {
    CHECK(tensors_of(nullptr, 0).empty());
    CHECK(refusal([] { static_cast<void>(tensors_of(nullptr, -1)); }, TENON_ERROR_ARGUMENT) ==
          "a list has a negative length");
  }

  TEST_CASE("no tensor, and one without data, are refused where data is needed") {
    const TensorRef tensor = floats({1, 2});
    CHECK_NOTHROW(require_data(tensor.get(), "the source"));
    CHECK(refusal([] { require_data(nullptr, "the source"); }, TENON_ERROR_ARGUMENT) ==
          "the source is null");
    Plugin plugin{"host_table", {}, {}};
    plugin.type("HostLike");
    plugin.commit(TypeTable::process());
    const int64_t shape[] = {2};
    const TensorRef like =
        make_dataless(TENON_F32, shape, TypeTable::process().find("HostLike")->id);
    CHECK(refusal([&] { require_data(like.get(), "the source"); }, TENON_ERROR_TYPE) ==
          "the source must be Tensor, not HostLike, which has no data; convert it first");
    CHECK(has(refusal([&] { require_gradients(like.get()); }, TENON_ERROR_TYPE),
              "must be Tensor, not HostLike, which has neither a conversion to Tensor"));
    CHECK_NOTHROW(require_gradients(tensor.get()));
    CHECK(refusal([] { require_gradients(nullptr); }, TENON_ERROR_ARGUMENT) ==
          "the tensor is null");
  }
}
