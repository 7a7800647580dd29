/* The load guard: an application's own judge of the plugins that its process loads. The host judges who
 * can change a plugin's file; whether its bytes are pinned, signed or locked, and whether it has ended
 * processes, is for a guard to know. tenon::trust (<tenon/trust/guard.hpp>) is one.
 *
 * A guard is set by a function of libtenon, not by a slot of the table that plugins get: plugins have no
 * use for removing what judges them.
 *
 * Rationale: `judge` is shown the sealed private copy that is mapped afterwards, not a path, so no other
 * process can put other bytes in the place of those that were judged. */
#ifndef TENON_ABI_GUARD_H
#define TENON_ABI_GUARD_H

#include <stdint.h>

#include "attributes.h"
#include "error.h"
#include "value.h"

/* The step of a load at which a plugin is refused. */
enum {
  TENON_STAGE_FIND = 0,
  TENON_STAGE_READ = 1,
  TENON_STAGE_VERSION = 2,
  TENON_STAGE_OPEN = 3,
  TENON_STAGE_SYMBOL = 4,
  TENON_STAGE_INIT = 5,
  TENON_STAGE_REGISTER = 6
};

/* Flag of a refusal: listings call the plugin "quarantined" instead of "failed". */
#define TENON_REFUSAL_QUARANTINED 1u

/* Why a plugin is refused. Growable: begins with its size. Texts are borrowed for the call of `refuse`; all
 * but `problem` may be empty. */
typedef struct tenon_refusal {
  uint32_t size;         /* bytes of this struct */
  int32_t stage;         /* a TENON_STAGE_ */
  uint32_t flags;        /* TENON_REFUSAL_ */
  uint32_t reserved;     /* 0 */
  tenon_string plugin;   /* id; empty: the plugin that is judged */
  tenon_string path;     /* empty: that plugin's */
  tenon_string problem;  /* text: the problem */
  tenon_string expected; /* text: expected */
  tenon_string found;    /* text: found */
  tenon_string remedy;   /* one imperative */
  tenon_string place;    /* in a config: "x.json:3:14: /plugins/0" */
} tenon_refusal;

/* A library that a pinned plugin links, by the name that it is linked by and the path it is opened from.
 * Frozen. */
typedef struct tenon_pinned_library {
  tenon_string name; /* name that it is linked by */
  tenon_string path; /* absolute path of the file */
} tenon_pinned_library;

/* How a guard answers: functions of the host, for the call that they are given to, on its thread. Growable:
 * begins with its size. */
typedef struct tenon_guard_report {
  uint32_t size;     /* bytes of this struct */
  uint32_t reserved; /* 0 */
  void* sink;        /* first argument of both functions */
  /* Refuses the plugin. Copies the texts. In `review` each call adds one fault; elsewhere the first
   * refusal is the one that users see. */
  void(TENON_CALL* refuse)(void* sink, const tenon_refusal* why);
  /* In `judge` of a load with bytes: the plugin may link these libraries and no others. Those that its
   * run path finds by $ORIGIN are opened as private copies, each judged by `judge_library`. Copies the
   * texts. */
  void(TENON_CALL* pin_libraries)(void* sink, const tenon_pinned_library* libraries, int64_t count);
} tenon_guard_report;

/* Distinguishes versions of a file without reading it. Times are nanoseconds. Frozen. */
typedef struct tenon_file_stamp {
  uint64_t device, inode, size; /* as stat(2) has them; size in bytes */
  int64_t modified, changed;    /* times of contents and of the inode */
} tenon_file_stamp;

/* On which occasion a plugin is judged. */
enum {
  TENON_GUARD_FOUND = 0, /* a scan has found it: a refusal is listed, and no load is tried */
  TENON_GUARD_POLICY =
      1,               /* a policy that names it is applied: a refusal is a fault of the policy */
  TENON_GUARD_LOAD = 2 /* its file is mapped next */
};

/* Views of a plugin that a guard asks for: bits of `wants`. */
enum {
  TENON_GUARD_WANTS_BYTES =
      1, /* in a load: a sealed private copy, which is mapped in place of the file */
  TENON_GUARD_WANTS_FACTS = 2 /* its declarations */
};

/* A plugin's file as a guard is shown it. Growable: begins with its size. All of it is borrowed for the
 * call. */
typedef struct tenon_guarded_file {
  uint32_t size;          /* bytes of this struct */
  uint32_t occasion;      /* a TENON_GUARD_ occasion */
  tenon_string plugin;    /* id; "cube@1.2.0" of a version that is used beside another */
  tenon_string path;      /* absolute */
  tenon_string asked_by;  /* who needs it: "op 'mm'"; empty: not known */
  tenon_file_stamp stamp; /* stamp of the file that was read */
  /* In `judge` of a load where the guard wants bytes: read-only memory that nothing can change. Else
   * null. */
  const void* bytes;
  uint64_t byte_count; /* length of `bytes` */
  /* Null unless the guard wants facts: {id, version, ops: [{name, schema, differentiable, jvp, flags}],
   * modules: [{name, schema, forward}], types: [{name, parent}], overrides: [{name, schema}]}. */
  const tenon_json* facts;
  /* The entry of this plugin in the newest policy that lists it; null: none says anything to guards. */
  const tenon_json* entry;
  /* In `before`: a config that loads this plugin alone, for a trial in another process. */
  const tenon_json* alone;
  /* The documents that `adopt` has made of the policies that are active, the newest first. */
  const tenon_json* const* policies;
  int64_t policy_count; /* entries of `policies` */
} tenon_guarded_file;

/* A library that a plugin with pinned libraries links, directly or through another one. Growable: begins with
 * its size. Borrowed. */
typedef struct tenon_guarded_library {
  uint32_t size;     /* bytes of this struct */
  uint32_t reserved; /* 0 */
  tenon_string name; /* name that it is linked by */
  tenon_string path; /* pinned place; empty: it is not pinned */
  tenon_string
      mapped;        /* the file that the process has mapped under this name already; empty: none */
  const void* bytes; /* bytes of the private copy or of the mapped file; null: not pinned */
  uint64_t byte_count; /* length of `bytes` */
} tenon_guarded_library;

/* The functions return TENON_OK, or another status after `refuse` was called or `error` was filled. A guard
 * that throws, fails without a reason or answers what does not fit together refuses the plugin.
 *
 * "Host's lock held": the function must not call the host, but for the slots of JSON, errors and texts, and
 * must not wait for another thread that may.
 * Growable: begins with its size. The host copies the table; `self` stays the application's until `release`. */
typedef struct tenon_load_guard {
  uint32_t size;  /* bytes of this struct */
  uint32_t flags; /* 0 */
  void* self;     /* first argument of every function */

  /* A policy (a config that is applied, or checked) reaches the host. Stores in `*kept` a new reference to
   * what the guard wants to be given of it later, or leaves null for a policy that says nothing to guards.
   * Stores 1 in `*reviews` where `review` is to be called from now on. `applies`: 0 when the policy is only
   * checked. An error refuses the policy. Host's lock held. Any thread. */
  tenon_status(TENON_CALL* adopt)(void* self, const tenon_json* policy, int32_t applies,
                                  tenon_json** kept, int32_t* reviews, tenon_error** error);
  /* A policy is about to become active: the first of `policies` when `newest` is 1, else one that says
   * nothing to guards. `loadable` is the document "loadable" as it would be then. Each refusal is a fault of the
   * policy, which does not become active. Host's lock held. Any thread. */
  tenon_status(TENON_CALL* review)(void* self, const tenon_json* const* policies,
                                   int64_t policy_count, int32_t newest, const tenon_json* loadable,
                                   const tenon_guard_report* report);

  /* Stores bits of TENON_GUARD_WANTS_: what `judge` needs for this plugin. The host's lock may be held.
   * Any thread. */
  tenon_status(TENON_CALL* wants)(void* self, const tenon_guarded_file* file, uint32_t* wants,
                                  const tenon_guard_report* report);
  /* Refuses the plugin, or returns TENON_OK. No code of it has run. Host's lock held, but for
   * TENON_GUARD_LOAD. Any thread. */
  tenon_status(TENON_CALL* judge)(void* self, const tenon_guarded_file* file,
                                  const tenon_guard_report* report);
  /* Refuses a library of a plugin whose libraries are pinned, or returns TENON_OK. Any thread, one at a
   * time. */
  tenon_status(TENON_CALL* judge_library)(void* self, const tenon_guarded_file* file,
                                          const tenon_guarded_library* library,
                                          const tenon_guard_report* report);

  /* Code of the plugin is run next: its file is mapped, then its entry and init are called. `*token` may
   * be set; `entered` and `after` get it, on the same thread. After a refusal neither is called. The host
   * may be called. Any thread. */
  tenon_status(TENON_CALL* before)(void* self, const tenon_guarded_file* file, void** token,
                                   const tenon_guard_report* report);
  /* The file is mapped and its constructors have run. Must not fail. */
  void(TENON_CALL* entered)(void* self, void* token);
  /* The load is over. `loaded`: 1 when the plugin is initialized, 0 when it failed. Must not fail. Not
   * called when the process ends meanwhile. */
  void(TENON_CALL* after)(void* self, void* token, int32_t loaded);

  /* The guard, which was set, is removed and its last call has returned. May be null. The host's lock may
   * be held. Any thread. */
  void(TENON_CALL* release)(void* self);
} tenon_load_guard;

#ifdef __cplusplus
extern "C" {
#endif

/* Sets the guard of all loads from now on, or removes it (null). RuntimeError while another one is set:
 * remove that first. The guard adopts the policies that are active, and plugins that were found are judged
 * again; loaded ones stay. Calls in flight end with the guard that they began with. Without a guard who can
 * change a file decides alone, and a policy that needs one is refused, or, when it was applied before,
 * refuses every plugin. Any thread; not from a function of a guard. */
TENON_EXPORT tenon_status tenon_guard_set(const tenon_load_guard* guard, tenon_error** error);

#ifdef __cplusplus
}
#endif

#endif
