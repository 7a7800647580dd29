/* Documents: JSON-like trees, and what the host knows of itself as such.
 *
 * A slot: makes or reads a node, or returns raw data of the host that nothing else shows. Not a
 * slot: views of that data for people; a format other than JSON.
 *
 *   tenon_json* document = NULL;
 *   tenon_status status = tenon_documents->parse(text, length, NULL, &document, NULL, error);
 *   if (status != TENON_OK) return status;
 *   const tenon_json* size = tenon_documents->find(document, "size", 4);
 *   ...
 *   tenon_documents->release(document);
 *
 * Any thread. A document is immutable; nodes are borrowed from it, and it is a new reference. */
#ifndef TENON_ABI_SERVICE_DOCUMENTS_H
#define TENON_ABI_SERVICE_DOCUMENTS_H

#include "service.h"
#include "tenon/abi/json.h"

#define TENON_DOCUMENTS_VERSION 1 /* newest version of the table; grows with its slots */

/* Raw documents of the runtime; share/tenon/documents.md has their shapes. */
enum {
  TENON_DOCUMENT_RUNTIME = 0,       /* version, instructions, and the folders that are searched */
  TENON_DOCUMENT_PLUGINS = 1,       /* plugin files that were found, and their states */
  TENON_DOCUMENT_FACTS = 2,         /* these with all that they declare */
  TENON_DOCUMENT_REGISTRATIONS = 3, /* tensor types and overrides in the tables */
  TENON_DOCUMENT_LIVE = 4,          /* recorded calls that are alive, where they are tracked */
  TENON_DOCUMENT_LOADABLE = 5 /* plugins that can be used, and the names that each may provide */
};

/* Kinds of items that several plugins may provide. */
enum { TENON_ITEM_OP = 0, TENON_ITEM_MODULE = 1, TENON_ITEM_TYPE = 2 };

/* Named "tenon.documents". */
typedef struct tenon_documents_service {
  tenon_service head; /* size and version */

  /* Parses JSON; the error has line and column. `reading` may be null: strict JSON, ValueError.
   * `duplicates` may be null: a key that an object has twice is an error. Else the first of each is
   * kept, and the others are listed: [{"key", "pointer", "line", "column", "offset", "first_line",
   * "first_column"}]. New references. Any thread. */
  tenon_status(TENON_CALL* parse)(const char* json, int64_t length,
                                  const tenon_json_reading* reading, tenon_json** document,
                                  tenon_json** duplicates, tenon_error** error);
  /* Writes JSON, on one line when `indent` is 0, as a string. Owned. Any thread. */
  tenon_status(TENON_CALL* dump)(const tenon_json* document, int32_t indent, tenon_value* text,
                                 tenon_error** error);
  /* Makes a document of steps. `source`: the document whose file name it has; may be null.
   * ValueError for steps that make no document, and for a key that an object has twice, TypeError
   * for other values. New reference. Any thread. */
  tenon_status(TENON_CALL* build)(const tenon_json_step* steps, int64_t count,
                                  const tenon_json* source, tenon_json** document,
                                  tenon_error** error);
  /* Adds a reference to the document of the node. Any thread. */
  void(TENON_CALL* retain)(tenon_json* document);
  /* Drops a reference; the last one destroys the document. May be null. Any thread. */
  void(TENON_CALL* release)(tenon_json* document);
  /* A scalar as NONE, BOOL, INT, FLOAT or STRING; an array or object as JSON. Borrowed; valid as
   * long as the document. Any thread. */
  tenon_value(TENON_CALL* value)(const tenon_json* document);
  /* 1 for an object, 0 for an array or scalar. Any thread. */
  int32_t(TENON_CALL* is_object)(const tenon_json* document);
  /* Children of an array or object; 0 for a scalar. Any thread. */
  int64_t(TENON_CALL* size)(const tenon_json* document);
  /* Child by position; null when there is none. Borrowed; valid as long as the document. Any
   * thread. */
  const tenon_json*(TENON_CALL* at)(const tenon_json* document, int64_t index);
  /* Child of an object by key; null when there is none. Borrowed; valid as long as the document.
   * Any thread. */
  const tenon_json*(TENON_CALL* find)(const tenon_json* document, const char* key, int64_t length);
  /* Key of child `index` of an object; empty otherwise. Borrowed; valid as long as the document.
   * Any thread. */
  tenon_string(TENON_CALL* key)(const tenon_json* document, int64_t index);
  /* Place of a node of a config, as messages say it: "FILE:3:14: /plugins/0/name"; without a file
   * the JSON pointer alone; empty for a root that was made by code. A string. Owned. Any thread. */
  tenon_status(TENON_CALL* place)(const tenon_json* document, tenon_value* text,
                                  tenon_error** error);
  /* A raw document, a TENON_DOCUMENT_: data without views, from which listings are made. Loads
   * nothing. New reference. Any thread. */
  tenon_status(TENON_CALL* document)(uint32_t which, tenon_json** document, tenon_error** error);
  /* The facts of a plugin file, as in TENON_DOCUMENT_FACTS, and "unmap": {"possible", "reasons"},
   * whether the code could be unmapped. The file need not be in a folder that is searched.
   * PluginError says what is wrong with it. New reference. Any thread. */
  tenon_status(TENON_CALL* facts_read)(const char* path, tenon_json** facts, tenon_error** error);
  /* The plugins that declare an op, module type or tensor type (`kind`, a TENON_ITEM_) of a full
   * name, as an array of {"plugin", "standing", "used", "reason"?, "may_decline"?, "declined"?};
   * empty where none does. Loads nothing. New reference. Any thread. */
  tenon_status(TENON_CALL* providers)(uint32_t kind, const char* name, tenon_json** providers,
                                      tenon_error** error);
  /* A schema, parsed: {"name", "signature", "method", "parameters", "returns_tuple", "returns"};
   * share/tenon/documents.md has the shape. ValueError with a caret under the fault. New reference.
   * Any thread. */
  tenon_status(TENON_CALL* schema_parse)(const char* schema, int64_t length, tenon_json** parsed,
                                         tenon_error** error);
  /* Place of the node in the text that was parsed. Any thread. */
  void(TENON_CALL* position)(const tenon_json* node, tenon_json_position* position);
  /* Passes the values of a JSON text to `events` in its order, and keeps none: the document may be
   * of any size. `max_depth` is how deep containers may be nested. ValueError for a text that is
   * not JSON, with line and column; an event's error ends it. Any thread. */
  tenon_status(TENON_CALL* scan)(const char* json, int64_t length, int64_t max_depth,
                                 const tenon_json_events* events, tenon_error** error);
  /* The file that the document was read from; empty for others. Borrowed; valid as long as the
   * document. Any thread. */
  tenon_string(TENON_CALL* source)(const tenon_json* document);
} tenon_documents_service;

#endif
