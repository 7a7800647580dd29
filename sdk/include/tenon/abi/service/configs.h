/* Configs: reading, checking and applying config files.
 *
 * A slot: needs the host's own description of config keys. Not a slot: the meaning of sections of
 * an application.
 *
 *   tenon_json* config = NULL;
 *   tenon_status status = tenon_configs->read("config.json", &config, error);
 *   if (status == TENON_OK) status = tenon_configs->apply(config, error);
 *
 * Any thread. Documents are new references. */
#ifndef TENON_ABI_SERVICE_CONFIGS_H
#define TENON_ABI_SERVICE_CONFIGS_H

#include "service.h"

#define TENON_CONFIGS_VERSION 1

/* Named "tenon.configs". */
typedef struct tenon_configs_service {
  tenon_service head;

  /* Reads and checks a config file; ConfigError lists every fault. `config` is normalized:
   * defaults filled in, short forms expanded. Runs no plugin code. New reference. Any thread. */
  tenon_status(TENON_CALL* read)(const char* path, tenon_json** config, tenon_error** error);
  /* read of a config that has further sections. `sections` describes them as a JSON Schema: its
   * "properties" become keys of the config's top, checked like the host's own, and any other key
   * is a fault. The subset: type (boolean, integer, number, string, array, object), minimum,
   * maximum, exclusiveMinimum, exclusiveMaximum, enum, items, minItems, maxItems, anyOf,
   * properties, required, dependencies, additionalProperties, default, description, and $ref to
   * "#/definitions/NAME". The format of a string may be "name", "input-path" or "output-path";
   * "shorthand" of an object is the key that a bare string stands for. Without sections (null)
   * keys that the host does not know are left to the application, unless they are nearly a host
   * key. New reference. Any thread. */
  tenon_status(TENON_CALL* read_sections)(const char* path, const tenon_json* sections,
                                          tenon_json** config, tenon_error** error);
  /* JSON Schema (draft 7) of configs with these sections, which may be null. New reference. Any
   * thread. */
  tenon_status(TENON_CALL* schema)(const tenon_json* sections, tenon_json** schema,
                                   tenon_error** error);
  /* Applies the plugin part of a config that read returned. Any thread. */
  tenon_status(TENON_CALL* apply)(const tenon_json* config, tenon_error** error);
  /* apply that runs no plugin code: plugins with "load": "eager" wait for their first use. Any
   * thread. */
  tenon_status(TENON_CALL* apply_lazily)(const tenon_json* config, tenon_error** error);
} tenon_configs_service;

#endif
