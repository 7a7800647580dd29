// Shared code of the plugin tests: fixtures, throwaway folders, a host and a table that record what
// happens.
#pragma once

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "core/plugin/plugin_manager.hpp"
#include "tenon/abi/facts.h"
#include "tenon/abi/host.h"
#include "tenon/abi/services.h"

namespace tenon::core::test {

inline std::string fixture(const std::string& name) {
  return std::string(TENON_FIXTURES) + "/" + name + ".so";
}

inline std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_file(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tenon-XXXXXX").string();
    if (::mkdtemp(pattern.data()) != nullptr) path_ = pattern;
    REQUIRE(!path_.empty());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  // Copies a fixture into the folder (or one below it) and gives its path there.
  std::string add(const std::string& name, const std::string& as = "") const {
    const std::string target = path_ + "/" + (as.empty() ? name + ".so" : as);
    std::filesystem::create_directories(std::filesystem::path(target).parent_path());
    std::filesystem::copy_file(fixture(name), target);
    return target;
  }

 private:
  std::string path_;
};

// Runs `body` and gives the failure that it throws.
inline PluginFailure failure_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const PluginError& error) {
    CHECK(error.kind == TENON_ERROR_PLUGIN);
    CHECK(error.message == error.failure.text());
    return error.failure;
  }
  FAIL("nothing was thrown");
  return {};
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

// A shared library of headers and facts alone: enough for readers, not for the system's loader.
inline std::string make_elf(const std::vector<std::string>& payloads, size_t padding = 0) {
  std::string notes;
  const auto append = [](std::string& text, const auto& value) {
    text.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  for (const std::string& payload : payloads) {
    const auto length = static_cast<uint32_t>(payload.size());
    const uint32_t padded = (length + 3) / 4 * 4;
    uint32_t checksum = TENON_FNV1A_32;
    for (const char c : payload) checksum = TENON_FNV1A_32_NEXT(checksum, c);
    append(notes, tenon_facts_header{6, 12 + padded, TENON_FACTS_TYPE, TENON_FACTS_OWNER,
                                     TENON_FACTS_FORMAT, length, checksum});
    notes += payload;
    notes.append(padded - length + padding, '\0');
  }
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_DYN;
#if defined(__x86_64__)
  header.e_machine = EM_X86_64;
#else
  header.e_machine = EM_AARCH64;
#endif
  header.e_version = EV_CURRENT;
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 3;
  const uint64_t start = sizeof header + 3 * sizeof(Elf64_Phdr);
  const auto segment = [](uint32_t type, uint64_t offset, uint64_t size) {
    Elf64_Phdr result{};
    result.p_type = type;
    result.p_offset = result.p_vaddr = offset;
    result.p_filesz = result.p_memsz = size;
    result.p_align = 4;
    return result;
  };
  // Every table of the dynamic section is the file's own beginning: in bounds, and all a reader
  // looks at.
  std::string dynamic;
  for (int64_t tag : {DT_STRTAB, DT_SYMTAB, DT_GNU_HASH, DT_NULL}) {
    Elf64_Dyn entry{};
    entry.d_tag = tag;
    append(dynamic, entry);
  }
  std::string elf;
  append(elf, header);
  append(elf, segment(PT_LOAD, 0, start + dynamic.size() + notes.size()));
  append(elf, segment(PT_DYNAMIC, start, dynamic.size()));
  append(elf, segment(PT_NOTE, start + dynamic.size(), notes.size()));
  return elf + dynamic + notes;
}

inline const std::string& plugin_payload() {
  static const std::string text = R"({"plugin":{"id":"made","version":"1.0.0","abi":[1,0]}})";
  return text;
}

// The parts of a host that fixtures use. `find_op` stands for the runtime's lazy loading, `manager`
// has the services of plugins.
class FakeHost {
 public:
  FakeHost() {
    table_.service = ask_service;
    table_.service_release = [](tenon_lease* lease) { delete lease; };
    table_.magic = TENON_HOST_MAGIC;
    table_.size = sizeof table_;
    table_.abi_major = TENON_ABI_MAJOR;
    table_.abi_minor = TENON_ABI_MINOR;
    table_.error_set = [](tenon_error** error, tenon_status kind, const char* message,
                          int64_t length) {
      if (error != nullptr) {
        *error = new tenon_error{Error(kind, std::string(message, static_cast<size_t>(length)))};
      }
      return kind;
    };
    values().head = {sizeof(tenon_values_service), 1};
    tensors().head = {sizeof(tenon_tensors_service), 1};
    ops().head = {sizeof(tenon_ops_service), 1};
    threads().head = {sizeof(tenon_threads_service), 1};
    values().error_set = table_.error_set;
    threads().log = [](int32_t, const char* source, const char* message, int64_t length) {
      const std::lock_guard lock(mutex());
      lines().push_back(std::string(source) + ": " +
                        std::string(message, static_cast<size_t>(length)));
    };
    ops().find = [](const char* name, int64_t length, const tenon_op**, tenon_error** error) {
      return guarded(error, [&] { find_op(std::string_view(name, static_cast<size_t>(length))); });
    };
    values().string_create = [](const char* data, int64_t length, tenon_value* result,
                                tenon_error**) -> tenon_status {
      static std::string text;
      text.assign(data, static_cast<size_t>(length));
      result->tag = TENON_VALUE_STRING;
      result->length = static_cast<uint32_t>(length);
      result->as.string = text.data();
      return TENON_OK;
    };
    tensors().empty = [](tenon_dtype dtype, int64_t rank, const int64_t* shape,
                         tenon_tensor** result, tenon_error**) -> tenon_status {
      static std::vector<float> data;
      static tenon_tensor_view view;
      view = {};
      view.count = 1;
      for (int64_t dim = 0; dim < rank; ++dim) view.count *= shape[dim];
      data.assign(static_cast<size_t>(view.count), -1.0f);
      view.data = data.data();
      view.dtype = dtype;
      view.rank = static_cast<uint8_t>(rank);
      view.shape = shape;
      *result = reinterpret_cast<tenon_tensor*>(&view);
      return TENON_OK;
    };
    lines().clear();
    find_op = [](std::string_view) {};
    manager = nullptr;
  }

  const tenon_host& table() const { return table_; }
  tenon_host& change() { return table_; }
  // Lines that plugins have logged.
  static std::vector<std::string>& lines() {
    static std::vector<std::string> all;
    return all;
  }
  static inline std::function<void(std::string_view)> find_op;
  static inline PluginManager* manager = nullptr;

 private:
  static tenon_status ask_service(const char* name, uint32_t version, const void** table,
                                  tenon_lease** lease, tenon_error** error) {
    return guarded(error, [&] {
      const std::string_view asked = name;
      *table = asked == "tenon.values"    ? static_cast<const void*>(&values())
               : asked == "tenon.tensors" ? static_cast<const void*>(&tensors())
               : asked == "tenon.ops"     ? static_cast<const void*>(&ops())
               : asked == "tenon.threads" ? static_cast<const void*>(&threads())
                                          : nullptr;
      if (lease != nullptr) *lease = nullptr;
      // Services that plugins ask for and call nothing of.
      static const struct {
        tenon_service head{sizeof *this, 1};
        void* slots[64] = {};
      } uncalled;
      if (*table == nullptr && is_host_service(asked)) *table = &uncalled;
      if (*table != nullptr) return;
      auto held = manager == nullptr ? nullptr : manager->lease_service(asked, version);
      if (held == nullptr) throw Error(TENON_ERROR_PLUGIN, "no service {}", asked);
      *table = held->table;
      if (lease != nullptr) *lease = held.release();
    });
  }
  static tenon_values_service& values() {
    static tenon_values_service one{};
    return one;
  }
  static tenon_tensors_service& tensors() {
    static tenon_tensors_service one{};
    return one;
  }
  static tenon_ops_service& ops() {
    static tenon_ops_service one{};
    return one;
  }
  static tenon_threads_service& threads() {
    static tenon_threads_service one{};
    return one;
  }
  static std::mutex& mutex() {
    static std::mutex one;
    return one;
  }
  tenon_host table_{};
};

class FakeRegistrar : public Registrar {
 public:
  void commit(const ResolvedLoad& load) override {
    if (before_commit) before_commit();
    const std::lock_guard lock(mutex_);
    const std::string& provider = load.provider;
    if (load.replaced != nullptr) erase(load.replaced->plugin());
    if (provider == refused) throw Error(TENON_ERROR_VALUE, "the table is full");
    for (const auto* op : load.ops) {
      REQUIRE(names.insert(provider + ":" + std::string(schema_name(op->schema))).second);
    }
    for (const auto* module : load.modules) {
      REQUIRE(names.insert(provider + ":" + std::string(schema_name(module->schema))).second);
    }
    for (const auto* service : load.services)
      REQUIRE(names.insert(provider + ":" + service->name).second);
    current[provider] = load.code;
    ++commits;
    if (after_commit) after_commit();
  }
  void configure(const std::string& type, const TypeSettings&) override {
    configured.push_back(type);
  }
  void set_preferences(Preferences given) override { preferences = std::move(given); }

  std::shared_ptr<const void> withdraw(const PluginCode& gone) override {
    if (before_withdraw) before_withdraw();
    const std::lock_guard lock(mutex_);
    if (current[gone.plugin()] == &gone) erase(gone.plugin());
    withdrawn.push_back(gone.generation());
    return nullptr;
  }
  void forget(const PluginCode& gone) override {
    if (before_forget) before_forget(gone);
    forgotten.push_back(gone.generation());
  }
  std::vector<std::string> users_of(const PluginCode&) override {
    if (before_users) before_users();
    return users;
  }

  std::vector<uint64_t> withdrawn, forgotten;  // generations
  std::vector<std::string> users;
  std::map<std::string, const PluginCode*> current;  // by plugin
  std::vector<std::string> configured;
  Preferences preferences;
  std::set<std::string> names;  // provider:name
  int commits = 0;
  std::string refused;  // the provider that it turns down
  std::function<void()> before_commit, after_commit, before_withdraw, before_users;
  std::function<void(const PluginCode&)> before_forget;

 private:
  void erase(const std::string& provider) {
    std::erase_if(names, [&](const std::string& name) { return name.starts_with(provider + ":"); });
  }
  std::mutex mutex_;
};

// Nothing of the process around: neither environment nor install folder.
inline SearchEnvironment nowhere() { return {}; }

}  // namespace tenon::core::test
