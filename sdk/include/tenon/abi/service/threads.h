/* Threads: the pool, random numbers, interrupts, the log, and the machine.
 *
 * A slot: something that the process has once, and that plugins must share. Not a slot: what a
 * thread can have for itself, and what is drawn from random bits (distributions are ops).
 *
 *   tenon_status status = tenon_threads->parallel_for(0, count, 4096, add_chunk, &sums, error);
 *
 * Any thread, where a slot does not say otherwise. Nothing here is owned by the caller. */
#ifndef TENON_ABI_SERVICE_THREADS_H
#define TENON_ABI_SERVICE_THREADS_H

#include "service.h"

#define TENON_THREADS_VERSION 1 /* newest version of the table; grows with its slots */

/* Named "tenon.threads". */
typedef struct tenon_threads_service {
  tenon_service head; /* size and version */

  /* Calls `body` for chunks of at least `grain` that cover [begin, end) once, on the threads of
   * the pool, with the modes of the caller; returns when all have ended. The first chunk that
   * fails gives its status and error. Within a chunk it runs serially. Between chunks, and pieces
   * of long ones, it looks at interrupt_word. Any thread. */
  tenon_status(TENON_CALL* parallel_for)(int64_t begin, int64_t end, int64_t grain,
                                         tenon_status(TENON_CALL* body)(void* state, int64_t begin,
                                                                        int64_t end,
                                                                        tenon_error** error),
                                         void* state, tenon_error** error);
  /* Threads that parallel_for may use, the caller among them. Any thread. */
  int32_t(TENON_CALL* count)(void);
  /* Sets that number for the process; below 1 restores the default. Any thread. */
  void(TENON_CALL* count_set)(int32_t count);
  /* TENON_ISA_ number of the loops that run: the best that the machine supports, or less where the
   * environment variable TENON_ISA says so. Any thread. */
  uint32_t(TENON_CALL* machine_isa)(void);
  /* Reserves `count` 64-bit draws of the process's counter-based generator: draw i is a pure
   * function of *seed and *offset + i. With a count below 1 it reserves none. Any thread. */
  void(TENON_CALL* generator_reserve)(int64_t count, uint64_t* seed, uint64_t* offset);
  /* Starts the sequence of a random seed from its first draw, for the process. Any thread. */
  void(TENON_CALL* generator_seed)(uint64_t seed);
  /* Continues the generator where generator_reserve(0, ...) has read it: the next draw is the one
   * at `offset` of the sequence of `seed`. For the process. Any thread. */
  void(TENON_CALL* generator_state_set)(uint64_t seed, uint64_t offset);
  /* A word of the process. While it is other than 0, loops of parallel_for stop with an
   * InterruptedError, on all threads. Any thread may set and clear it, by atomic stores, and so
   * may a signal handler. Borrowed; valid for the life of the process. Any thread. */
  int32_t*(TENON_CALL* interrupt_word)(void);
  /* InterruptedError where the word is set and loops of this thread would stop: for kernels that
   * loop long on their own, after a look at the word. Calling thread only. */
  tenon_status(TENON_CALL* interrupt_check)(tenon_error** error);
  /* 0: loops that this thread starts run to their end, whatever the word says. Returns the
   * previous setting. Ops that change an operand run so. Calling thread only. */
  int32_t(TENON_CALL* interrupts_set)(int32_t enabled);
  /* Writes a line to the log. `level`: 0 trace, 1 debug, 2 info, 3 warning, 4 error. `source` is
   * the logger's name, mostly a plugin's id; may be null. Any thread. */
  void(TENON_CALL* log)(int32_t level, const char* source, const char* message, int64_t length);
} tenon_threads_service;

#endif
