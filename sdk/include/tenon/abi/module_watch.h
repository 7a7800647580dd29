/* Watches: functions that hear of the forward of each module that a thread calls, whichever it is. */
#ifndef TENON_ABI_MODULE_WATCH_H
#define TENON_ABI_MODULE_WATCH_H

#include <stdint.h>

#include "attributes.h"
#include "error.h"
#include "value.h"

/* When a watch hears of a module. */
enum {
  TENON_WATCH_BEGINS = 0, /* before its hooks; values: the arguments, one for each parameter */
  TENON_WATCH_ENDED = 1,  /* behind its forward and its hooks; values: the results */
  TENON_WATCH_FAILED = 2  /* instead of ENDED, with an error; no values */
};

/* Flags of a watch. */
enum {
  /* It hears of modules that parallel loops of its thread call on other threads, too: its function runs on
   * several threads at the same time. */
  TENON_WATCH_IN_LOOPS = 1
};

/* An event of a watch. Growable: begins with its size. Everything is borrowed, valid during the call. */
typedef struct tenon_module_event {
  uint32_t size;             /* bytes of this struct */
  int32_t kind;              /* TENON_WATCH_BEGINS, ENDED or FAILED */
  tenon_module* module;      /* whose forward it is */
  const tenon_value* values; /* arguments or results, by kind */
  int64_t value_count;       /* entries of `values` */
  const tenon_string* names; /* parameters of forward, beside arguments; null for other kinds */
} tenon_module_event;

/* A user's function, called on the thread that calls the module. Each event TENON_WATCH_BEGINS that it has
 * answered with TENON_OK is followed by one of the others, those of modules inside between them, unless the
 * watch is left meanwhile. Another status makes the call of the module fail with the error; that of
 * TENON_WATCH_FAILED is ignored, since the call has an error. Modules that it calls are events, too: one that
 * calls a module at each event does not end. */
typedef tenon_status(TENON_CALL* tenon_module_watch_function)(void* self,
                                                              const tenon_module_event* event,
                                                              tenon_error** error);

#endif
