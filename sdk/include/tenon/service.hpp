// Services of plugins: small tables of functions that one plugin provides, and others use.
//
//   // words.hpp, of the provider: the table in C, and how C++ calls it
//   typedef struct words_service {
//     tenon_service head;
//     tenon_status(TENON_CALL* count)(const char* text, int64_t* result, tenon_error** error);
//   } words_service;
//
//   // in the provider
//   struct Words {
//     static constexpr const char* name = "words";
//     static constexpr const char* doc = "Counts words.";
//     static constexpr words_service table{{sizeof(words_service), 1}, count};
//   };
//   TENON_SERVICE(Words)
//
//   // in a plugin that uses it, at global scope: declares the need, and words_table()
//   TENON_USES_SERVICE(words_table, words_service, "words", 1)
//   ... tenon::call_slot(words_table().count, text, &result);
//
//   // in an application, or where the name is known at run time only
//   const tenon::Service<words_service> words("words", 1);
//   tenon::call_slot(words->count, text, &result);
#pragma once

#include <utility>

#include "tenon/error.hpp"

TENON_NAMESPACE_BEGIN

// A lease of a service: as long as it lives, the provider's code stays, also where the plugin is
// unloaded or reloaded meanwhile. Loads the provider. PluginError when there is none, or none of
// this version. Any thread; the table's functions have their own rules.
template <class Table>
class Service {
 public:
  Service(const char* name, uint32_t version) {  // PluginError without a provider
    const void* table = nullptr;
    detail::check(host().service, name, version, &table, &lease_);
    table_ = static_cast<const Table*>(table);
  }
  Service(Service&& other) noexcept
      : table_(other.table_), lease_(std::exchange(other.lease_, nullptr)) {}
  Service& operator=(Service&& other) noexcept {
    std::swap(table_, other.table_);
    std::swap(lease_, other.lease_);
    return *this;
  }
  ~Service() { host().service_release(lease_); }

  const Table* operator->() const noexcept { return table_; }  // functions of the service
  const Table& operator*() const noexcept { return *table_; }  // functions of the service

 private:
  const Table* table_ = nullptr;
  tenon_lease* lease_ = nullptr;  // null of the host's own
};

// Calls a slot of a service with a place for its error appended; throws when it fails.
template <class... Parameters, class... Arguments>
void call_slot(tenon_status(TENON_CALL* slot)(Parameters...), Arguments&&... arguments) {
  detail::check(slot, static_cast<Arguments&&>(arguments)...);
}

// Runs the body of a slot that a plugin provides: what it throws becomes the slot's error.
template <class Body>
tenon_status run_slot(tenon_error** error, Body&& body) noexcept {
  return detail::guarded(error, static_cast<Body&&>(body));
}

#ifdef TENON_PLUGIN_BUILD
#define TENON_USES_SERVICE(access, Table, name, version) \
  TENON_SERVICE_NEED(access, Table, name, version)
#else
// Defines `access()`, the table of a plugin's service, at global scope or in a namespace. In a plugin
// the call declares the need; an application holds the service from its first call on. `version`, a
// number, is the oldest that has the slots that are called.
#define TENON_USES_SERVICE(access, Table, name, version)         \
  inline const Table& access() {                                 \
    static const ::tenon::Service<Table> service(name, version); \
    return *service;                                             \
  }
#endif

TENON_NAMESPACE_END

#ifdef TENON_PLUGIN_BUILD
#include "tenon/detail/registration.hpp"

TENON_NAMESPACE_BEGIN
namespace detail {

template <class Definition>
struct ServiceFact {
  static constexpr void write(FactsWriter& writer) {
    writer.raw(R"({"service":{"name":)");
    writer.string(Definition::name);
    writer.raw(R"(,"version":)");
    writer.number(Definition::table.head.version);
    writer.raw(R"(,"doc":)");
    writer.string(Definition::doc);
    writer.raw("}}");
  }
};
template <class Definition>
constexpr tenon_service_descriptor make_service() {
  static_assert(Definition::table.head.size == sizeof(Definition::table) &&
                    Definition::table.head.version > 0,
                "the table begins with {sizeof(its struct), its version}, versions count from 1");
  tenon_service_descriptor descriptor{};
  descriptor.size = sizeof(descriptor);
  descriptor.name = Definition::name;
  descriptor.doc = Definition::doc;
  descriptor.table = &Definition::table.head;
  return descriptor;
}

}  // namespace detail
TENON_NAMESPACE_END

// Provides a service: Definition has `name`, `doc` and `table`, all constants.
#define TENON_SERVICE(Definition) TENON_REGISTER(service, Definition, ServiceFact, make_service)
#endif
