/* Modes: what applies to all calls of a thread.
 *
 * A slot: begins or ends a scope that dispatch asks at each call of the thread. Not a slot:
 * settings of the process (threads.h, plugins.h) or of recording (autograd.h).
 *
 *   tenon_mode* mode = NULL;
 *   tenon_status status = tenon_modes->enter("counter", count_calls, &state, 0, &mode, error);
 *   if (status != TENON_OK) return status;
 *   ...
 *   status = tenon_modes->leave(mode, error);
 *
 * Calling thread only. A mode is valid until it is left; what it calls is borrowed until then. */
#ifndef TENON_ABI_SERVICE_MODES_H
#define TENON_ABI_SERVICE_MODES_H

#include "service.h"
#include "tenon/abi/module_watch.h"
#include "tenon/abi/type.h"

#define TENON_MODES_VERSION 1 /* newest version of the table; grows with its slots */

/* Named "tenon.modes". */
typedef struct tenon_modes_service {
  tenon_service head; /* size and version */

  /* Calls `handler` for every op that this thread calls, factories included, until the mode is
   * left: the innermost mode first, all modes before types. While the handler runs, its own mode
   * is off, and types.call_parent continues outside of it. `below` 1: for every op that runs below
   * autograd instead. `below` 2: as 0, and not counted by `count`, for a recorder, under which
   * modules should call what they call without it. `name` is copied and may be null; `self` is borrowed until the mode is left.
   * `mode` is valid until then. Calling thread only. */
  tenon_status(TENON_CALL* enter)(const char* name, tenon_handler_function handler, void* self,
                                  int32_t below, tenon_mode** mode, tenon_error** error);
  /* enter with the tenon_function of a module's type; the module is retained until the mode is
   * left. TypeError when the type has none. Calling thread only. */
  tenon_status(TENON_CALL* enter_module)(tenon_module* module, int32_t below, tenon_mode** mode,
                                         tenon_error** error);
  /* Leaves the mode: it is inactive and must not be used any more, on failure too. RuntimeError
   * when it was not the innermost, or was entered on another thread. Calling thread only. */
  tenon_status(TENON_CALL* leave)(tenon_mode* mode, tenon_error** error);
  /* Modes above autograd that are active on this thread, recorders aside. Calling thread only. */
  int64_t(TENON_CALL* count)(void);
  /* Sets what calls of this thread skip, as TENON_DISABLE_ bits; returns the previous bits.
   * Calling thread only. */
  uint32_t(TENON_CALL* disable)(uint32_t what);
  /* The bits. Calling thread only. */
  uint32_t(TENON_CALL* disabled)(void);
  /* From now on ops compute shapes and dtypes alone: results are zeros, operands are not changed,
   * nothing is recorded or drawn at random, and large new tensors take no memory until they are
   * written. What ops declare in `multiply_adds` is added to *multiply_adds. Null ends it. Returns
   * what was set before. Calling thread only. */
  int64_t*(TENON_CALL* shapes_only_set)(int64_t* multiply_adds);
  /* Calls `write` with a line for each event of this thread's calls until trace_leave: text
   * indented by nesting, or JSON when `json` is 1. `line` is borrowed for the call; `write` must
   * not call ops. `self` is borrowed until trace_leave. `trace` is valid until then. Calling
   * thread only. */
  tenon_status(TENON_CALL* trace_enter)(int32_t json,
                                        void(TENON_CALL* write)(void* self, const char* line,
                                                                int64_t length),
                                        void* self, tenon_trace** trace, tenon_error** error);
  /* Ends the trace and frees it. Calling thread only. */
  tenon_status(TENON_CALL* trace_leave)(tenon_trace* trace, tenon_error** error);
  /* Calls `function` for each module whose forward this thread calls, until watch_leave: of watches inside
   * of each other the one that was entered last hears of a begin first, and of an end last. A module that
   * computes in one step what several of its children would asks by `watches`, and calls them one by one
   * meanwhile. `flags`: TENON_WATCH_IN_LOOPS; ArgumentError for others. `self` is borrowed until
   * watch_leave. `watch` is valid until then. Calling thread only. */
  tenon_status(TENON_CALL* watch_enter)(tenon_module_watch_function function, void* self,
                                        uint32_t flags, tenon_watch** watch, tenon_error** error);
  /* Ends the watch, in any order; within a module, it hears of that module no more. RuntimeError when it was
   * entered on another thread, and within a parallel loop that began under it: the watch is inactive then,
   * too, but other threads may be calling it. Calling thread only. */
  tenon_status(TENON_CALL* watch_leave)(tenon_watch* watch, tenon_error** error);
  /* Watches of modules that are active on this thread. Calling thread only. */
  int64_t(TENON_CALL* watches)(void);
} tenon_modes_service;

#endif
