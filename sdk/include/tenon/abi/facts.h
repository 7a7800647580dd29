/* Plugin facts: what a plugin declares, readable from the file without running any of its code.
 *
 * Facts are ELF notes in sections named .note.tenon, so that they are in a loaded segment and
 * survive strip, section garbage collection and link-time optimization. A plugin has one for the
 * plugin and one for each op, module, type, override, service and need of a service, in any order
 * and from any translation unit. Each is:
 *
 *   uint32 name size = 6 | uint32 descriptor size | uint32 type | "Tenon\0" padded to 8 bytes |
 *   uint32 format | uint32 payload length | uint32 checksum (FNV-1a of the payload) |
 *   payload, padded to 4 bytes
 *
 * The payload is one JSON object in UTF-8:
 *   {"plugin":{"id","version","abi":[major,minor],"sdk","compiler","license"}}
 *   {"op":{"schema","doc","differentiable":"none|formula|composite","jvp":"none|rule|...",
 *     "flags":n,"samples":"[{...}]","accuracy"}}
 *   {"module":{"schema","doc","samples"}}
 *   {"type":{"name","parent","doc","flags":n,"fallback":n,"metadata":n,"handler":true|false,
 *     "payload":[size,alignment,fingerprint]}}
 *   {"override":{"schema","doc","types","accepts"}}
 *   {"service":{"name","version":n,"doc"}}
 *   {"uses":{"service","version":n}}, {"conversions":{"format","rules"}}, any number of both
 */
#ifndef TENON_ABI_FACTS_H
#define TENON_ABI_FACTS_H

#include <stdint.h>

/* Name of the section, and owner, type and format of each note. */
#define TENON_FACTS_SECTION ".note.tenon"
#define TENON_FACTS_OWNER "Tenon"
#define TENON_FACTS_TYPE_NUMBER 0x544e0001
#define TENON_FACTS_TYPE ((uint32_t)TENON_FACTS_TYPE_NUMBER)
#define TENON_FACTS_FORMAT 1u

/* Limits that readers enforce: bytes of a payload, bytes of all facts of a file, their number. */
#define TENON_FACTS_MAX_PAYLOAD (1u << 16)
#define TENON_FACTS_MAX_BYTES (1u << 24)
#define TENON_FACTS_MAX_COUNT 16384u

/* FNV-1a of 32 bits, for checksums and fingerprints, and of 64: its start, and one more byte. */
#define TENON_FNV1A_32 2166136261u
#define TENON_FNV1A_32_NEXT(hash, byte) (((hash) ^ ((byte)&255u)) * 16777619u)
#define TENON_FNV1A_64 14695981039346656037u
#define TENON_FNV1A_64_NEXT(hash, byte) (((hash) ^ ((byte)&255u)) * 1099511628211u)

/* The head of a note; the payload follows. Frozen: files contain it. */
typedef struct tenon_facts_header {
  uint32_t name_size;       /* size of `owner`, with its NUL: 6 */
  uint32_t descriptor_size; /* bytes after `owner`, padding included */
  uint32_t type;            /* TENON_FACTS_TYPE */
  char owner[8];            /* TENON_FACTS_OWNER */
  uint32_t format;          /* TENON_FACTS_FORMAT */
  uint32_t payload_length;  /* without padding */
  uint32_t checksum;        /* TENON_FNV1A_32 of the payload; 0: not checked, as in plain C */
} tenon_facts_header;

/* Puts a constant into the section, even where no code uses it. Without the room that the address
 * sanitizer of Clang puts behind variables, which would be the head of a note without sense. */
#define TENON_FACTS_PLACE \
  __attribute__((section(TENON_FACTS_SECTION), used, aligned(4))) TENON_FACTS_WITHOUT_ROOM
#define TENON_FACTS_WITHOUT_ROOM
#if defined(__clang__)
#if __has_feature(address_sanitizer)
#undef TENON_FACTS_WITHOUT_ROOM
#define TENON_FACTS_WITHOUT_ROOM __attribute__((no_sanitize("address")))
#endif
#endif

/* The head of a note whose payload is `size` bytes with its NUL, and room for both. */
#define TENON_FACTS_HEADER(size)                                                   \
  {                                                                                \
    6, 12 + (uint32_t)TENON_FACTS_ROOM(size), TENON_FACTS_TYPE, TENON_FACTS_OWNER, \
        TENON_FACTS_FORMAT, (uint32_t)((size)-1), 0                                \
  }
#define TENON_FACTS_ROOM(size) (((size) + 3) / 4 * 4)

/* Defines a fact from a JSON string literal, in C: TENON_FACT(name, "{\"op\":{...}}"); `name` is
 * any identifier that is unique in the file. <tenon/plugin.h> has macros that write the JSON. */
#define TENON_FACT(name, json)                    \
  static const struct {                           \
    tenon_facts_header header;                    \
    char payload[TENON_FACTS_ROOM(sizeof(json))]; \
  } tenon_fact_##name TENON_FACTS_PLACE = {TENON_FACTS_HEADER(sizeof(json)), json}

#endif
