/* Umbrella for plugins in C: the boundary, and macros that write a definition's facts and its
 * descriptor from one mention.
 *
 *   TENON_USES(tensors, 1)
 *   static tenon_status TENON_CALL square(void* self, tenon_context* context,
 *                                         const tenon_value* arguments, tenon_value* results,
 *                                         tenon_error** error);
 *   TENON_OP(square, "hello.square(Tensor input) -> Tensor", "The square of each element.",
 *            none, none, TENON_OP_ZERO_GRADIENT, .run = square)
 *   TENON_PLUGIN(hello, "0.1.0")
 *
 * All go to global scope, without a semicolon, in any file of the plugin and in any order. A text
 * that becomes a fact is a string literal without '"', '\\' and line breaks. A tensor type has facts
 * that these macros do not write: use TENON_FACT. In C++ include <tenon/plugin.hpp>. */
#ifndef TENON_PLUGIN_H
#define TENON_PLUGIN_H

#include "registration.h"
#include "tenon/abi/abi.h"

#ifndef __cplusplus

/* The host, from the moment at which it calls the plugin's entry. Any thread. */
extern __attribute__((visibility("hidden"))) const tenon_host* tenon_plugin_host;

/* Declares that this file uses a service of the host, and the pointer to its table, which the host
 * fills before the plugin's init: TENON_USES(tensors, 1) declares tenon_tensors. The version, a
 * number, is the oldest that has the slots that are called. */
#define TENON_USES(service, number) \
  TENON_USES_SERVICE(tenon_##service, tenon_##service##_service, "tenon." #service, number)
/* Declares that this file uses a service of another plugin: TENON_USES_SERVICE(words,
 * words_service, "words", 1) declares the pointer words. */
#define TENON_USES_SERVICE(pointer, Table, service_name, number)                                  \
  TENON_FACT(uses_##pointer,                                                                      \
             "{\"uses\":{\"service\":\"" service_name "\",\"version\":" TENON_TEXT(number) "}}"); \
  static const Table* pointer;                                                                    \
  static const tenon_use tenon_use_of_##pointer = {sizeof(tenon_use), number, service_name,       \
                                                   (const void**)&pointer};                       \
  TENON_ENTRY_PLACE("tenon_uses")                                                                 \
  static const tenon_use* const tenon_use_entry_##pointer = &tenon_use_of_##pointer;

/* Checks the text of a fact. Clang does not look into literals while it compiles: there the host
 * reports the fact when it reads the file. */
#ifdef __clang__
#define TENON_CHECK_TEXT(text) _Static_assert(sizeof("" text) > 0, "it is a string literal")
#else
#define TENON_CHECK_TEXT(text)                                                    \
  _Static_assert(!__builtin_strchr(text, '"') && !__builtin_strchr(text, '\\') && \
                     !__builtin_strchr(text, '\n'),                               \
                 "a text of a definition must not have '\"', '\\' or a line break")
#endif

/* Numbers of facts, as text. */
#define TENON_TEXT(number) TENON_TEXT_OF(number)
#define TENON_TEXT_OF(number) #number
/* A digit of the flags; spaces in place of zeros in front, which JSON does not have. */
#define TENON_FLAG_DIGIT(flags, power) \
  ((flags) >= (power) || (power) == 1 ? (char)('0' + (flags) / (power) % 10) : ' ')

/* How an op is differentiated, as in listings. */
#define TENON_DIFFERENTIABLE_OF_none TENON_DIFFERENTIABLE_NONE
#define TENON_DIFFERENTIABLE_OF_formula TENON_DIFFERENTIABLE_FORMULA
#define TENON_DIFFERENTIABLE_OF_composite TENON_DIFFERENTIABLE_COMPOSITE
#define TENON_JVP_OF_none TENON_JVP_NONE
#define TENON_JVP_OF_rule TENON_JVP_RULE
#define TENON_JVP_OF_pointwise TENON_JVP_POINTWISE
#define TENON_JVP_OF_linear TENON_JVP_LINEAR
#define TENON_JVP_OF_multilinear TENON_JVP_MULTILINEAR

/* The descriptor of a definition, and the entry that registers it. */
#define TENON_REGISTER(kind, name, ...)                                       \
  extern __attribute__((visibility("hidden")))                                \
  const tenon_##kind##_descriptor TENON_DESCRIPTOR(kind, name);               \
  const tenon_##kind##_descriptor TENON_DESCRIPTOR(kind, name) = {            \
      .size = sizeof(tenon_##kind##_descriptor), __VA_ARGS__};                \
  TENON_ENTRY_PLACE("tenon_" #kind "s")                                       \
  static const tenon_##kind##_descriptor* const tenon_##kind##_entry_##name = \
      &TENON_DESCRIPTOR(kind, name);

/* Defines and registers an op. `name`: an identifier, unique in the plugin; `differentiable_kind`:
 * none, formula or composite; `jvp_token`: none, rule, pointwise, linear or multilinear;
 * `flag_bits`: TENON_OP_ bits or 0; then members of tenon_op_descriptor: .run or .elementwise, and
 * what the op has of .backward, .jvp, .saves and .self; .declines with TENON_OP_MAY_DECLINE. */
#define TENON_OP(name, schema_text, doc_text, differentiable_kind, jvp_token, flag_bits, ...) \
  TENON_CHECK_TEXT(schema_text);                                                              \
  TENON_CHECK_TEXT(doc_text);                                                                 \
  TENON_OP_FACT(name, flag_bits,                                                              \
                ",\"schema\":\"" schema_text "\",\"doc\":\"" doc_text                         \
                "\",\"differentiable\":\"" #differentiable_kind "\",\"jvp\":\"" #jvp_token    \
                "\"}}");                                                                      \
  TENON_REGISTER(op, name, .flags = (flag_bits), .schema = schema_text, .doc = doc_text,      \
                 .differentiable = TENON_DIFFERENTIABLE_OF_##differentiable_kind,             \
                 .jvp_kind = TENON_JVP_OF_##jvp_token, __VA_ARGS__)
#define TENON_OP_FACT(name, flag_bits, rest_text)                                     \
  static const struct {                                                               \
    tenon_facts_header header;                                                        \
    char opening[15];                                                                 \
    char digits[9];                                                                   \
    char rest[TENON_FACTS_ROOM(sizeof(rest_text))];                                   \
  } tenon_op_fact_##name TENON_FACTS_PLACE = {                                        \
      TENON_FACTS_HEADER(15 + 9 + sizeof(rest_text)),                                 \
      {'{', '"', 'o', 'p', '"', ':', '{', '"', 'f', 'l', 'a', 'g', 's', '"', ':'},    \
      {TENON_FLAG_DIGIT(flag_bits, 100000000), TENON_FLAG_DIGIT(flag_bits, 10000000), \
       TENON_FLAG_DIGIT(flag_bits, 1000000), TENON_FLAG_DIGIT(flag_bits, 100000),     \
       TENON_FLAG_DIGIT(flag_bits, 10000), TENON_FLAG_DIGIT(flag_bits, 1000),         \
       TENON_FLAG_DIGIT(flag_bits, 100), TENON_FLAG_DIGIT(flag_bits, 10),             \
       TENON_FLAG_DIGIT(flag_bits, 1)},                                               \
      rest_text}

/* Defines and registers a module: the schemas of its attributes and of forward; after the texts come
 * members of tenon_module_descriptor. */
#define TENON_MODULE(name, schema_text, forward_text, doc_text, ...)                           \
  TENON_CHECK_TEXT(schema_text);                                                               \
  TENON_CHECK_TEXT(forward_text);                                                              \
  TENON_CHECK_TEXT(doc_text);                                                                  \
  TENON_FACT(module_##name, "{\"module\":{\"schema\":\"" schema_text                           \
                            "\",\"forward\":\"" forward_text "\",\"doc\":\"" doc_text "\"}}"); \
  TENON_REGISTER(module, name, .schema = schema_text, .forward_schema = forward_text,          \
                 .doc = doc_text, __VA_ARGS__)

/* Provides a service. `name`: an identifier, unique in the plugin; the name for users; the version, a
 * number; the table, a static object that begins with {sizeof table, version}. */
#define TENON_SERVICE(name, service_name, number, doc_text, table_object)                         \
  TENON_CHECK_TEXT(doc_text);                                                                     \
  TENON_FACT(service_##name, "{\"service\":{\"name\":\"" service_name                             \
                             "\",\"version\":" TENON_TEXT(number) ",\"doc\":\"" doc_text "\"}}"); \
  static const tenon_service_descriptor tenon_service_##name = {                                  \
      sizeof(tenon_service_descriptor), 0, service_name, doc_text, &(table_object).head};         \
  TENON_ENTRY_PLACE("tenon_services")                                                             \
  static const tenon_service_descriptor* const tenon_service_entry_##name = &tenon_service_##name;

/* The plugin: its id and version, once; then .init and .shutdown of tenon_plugin, if any. */
#define TENON_PLUGIN(plugin_id, ...)                                                              \
  TENON_FACT(plugin_##plugin_id, \
             "{\"plugin\":{\"id\":\"" #plugin_id "\",\"version\":\"" TENON_FIRST(__VA_ARGS__, 0) \
             "\",\"abi\":[" TENON_TEXT(TENON_ABI_MAJOR) "," TENON_TEXT(TENON_TARGET_MINOR) \
             "],\"sdk\":\"" TENON_TEXT(TENON_VERSION_MAJOR) "." TENON_TEXT(TENON_VERSION_MINOR) \
             "." TENON_TEXT(TENON_VERSION_PATCH) "\",\"compiler\":\"" TENON_C_COMPILER "\"}}");                                                                \
  const tenon_host* tenon_plugin_host;                                                            \
  TENON_EXPORT tenon_status TENON_CALL tenon_plugin_entry(                                        \
      const tenon_host* host, const tenon_plugin** plugin, tenon_error** error);                  \
  tenon_status TENON_CALL tenon_plugin_entry(const tenon_host* host, const tenon_plugin** plugin, \
                                             tenon_error** error) {                               \
    static tenon_plugin tenon_table = {.size = sizeof(tenon_plugin),                              \
                                       .abi_major = TENON_ABI_MAJOR,                              \
                                       .abi_minor = TENON_TARGET_MINOR,                           \
                                       .id = #plugin_id,                                          \
                                       .version = __VA_ARGS__};                                   \
    return tenon_enter(host, &tenon_table, plugin, error);                                        \
  }
#define TENON_FIRST(first, ...) first
#ifdef __clang__
#define TENON_C_COMPILER "clang " __clang_version__
#else
#define TENON_C_COMPILER "gcc " __VERSION__
#endif

/* The work of the entry, for TENON_PLUGIN. */
static inline tenon_status tenon_enter(const tenon_host* host, tenon_plugin* table,
                                       const tenon_plugin** plugin, tenon_error** error) {
  static const char older[] = "the host's boundary is older than the one this plugin was built for";
  if (host->magic != TENON_HOST_MAGIC || host->abi_major != TENON_ABI_MAJOR ||
      host->abi_minor + 1 < TENON_TARGET_MINOR + 1)
    return host->error_set(error, TENON_ERROR_PLUGIN, older, sizeof older - 1);
  tenon_plugin_host = host;
  tenon_collect_entries(table);
  *plugin = table;
  return TENON_OK;
}

#endif /* C */
#endif
