/* Ops: finding, binding and calling them.
 *
 * A slot: finds an op by name, passes a call to dispatch, or answers how the op would bind
 * arguments. Not a slot: a single op, however common; listings of ops (documents.h).
 *
 *   const tenon_op* add = NULL;
 *   tenon_status status = tenon_ops->find("add", 3, &add, error);
 *   if (status == TENON_OK) status = tenon_ops->call(add, operands, 2, &sum, error);
 *
 * Any thread, several at the same time. Arguments are borrowed for the call, results are owned by
 * the caller. An op handle is valid for the life of the process. */
#ifndef TENON_ABI_SERVICE_OPS_H
#define TENON_ABI_SERVICE_OPS_H

#include "service.h"
#include "tenon/abi/op.h"

#define TENON_OPS_VERSION 1 /* newest version of the table; grows with its slots */

/* An operand that is known by its type alone. Frozen. */
typedef struct tenon_operand_type {
  uint32_t type;     /* an id, see find of types.h */
  tenon_dtype dtype; /* TENON_DTYPE_NONE: not given */
} tenon_operand_type;

/* An argument of a call that `explain_types` explains. Frozen. */
typedef struct tenon_written_argument {
  tenon_string keyword;               /* empty: by position */
  const tenon_operand_type* operands; /* null: `value` is the argument */
  int64_t operand_count;              /* entries of `operands` */
  int32_t list;                       /* 1: the operands are a list */
  uint32_t reserved;                  /* 0 */
  tenon_value value;                  /* the argument, where `operands` is null */
} tenon_written_argument;

/* Named "tenon.ops". */
typedef struct tenon_ops_service {
  tenon_service head; /* size and version */

  /* The op of a full name; loads the plugin that declares it. Borrowed; valid for the life of the
   * process: once its plugin is unloaded, calls raise PluginError. Any thread. */
  tenon_status(TENON_CALL* find)(const char* name, int64_t length, const tenon_op** op,
                                 tenon_error** error);
  /* Full name, "nn.functional.linear". Borrowed; valid for the life of the process. Any thread. */
  const char*(TENON_CALL* name)(const tenon_op* op);
  /* Calls the op with its first `count` parameters in schema order; the others have their
   * defaults. `results` has result_count entries. Owned. Any thread. */
  tenon_status(TENON_CALL* call)(const tenon_op* op, const tenon_value* arguments, int64_t count,
                                 tenon_value* results, tenon_error** error);
  /* call for typed wrappers, which pass their C++ default arguments too: handlers and modes see a
   * value that equals its default, at the end or after '*', as not given. Any thread. */
  tenon_status(TENON_CALL* call_filled)(const tenon_op* op, const tenon_value* arguments,
                                        int64_t count, tenon_value* results, tenon_error** error);
  /* Calls the op with positional and keyword arguments, bound and checked as Python binds them.
   * `results` has result_count entries. Owned. Any thread. */
  tenon_status(TENON_CALL* call_keywords)(const tenon_op* op, const tenon_value* arguments,
                                          int64_t count, const tenon_string* keywords,
                                          const tenon_value* keyword_values, int64_t keyword_count,
                                          tenon_value* results, tenon_error** error);
  /* Binds as call_keywords does, with the same errors, and calls nothing. Any thread. */
  tenon_status(TENON_CALL* bind)(const tenon_op* op, const tenon_value* arguments, int64_t count,
                                 const tenon_string* keywords, const tenon_value* keyword_values,
                                 int64_t keyword_count, tenon_error** error);
  /* Binds the keyword-only parameters of an op alone: one that is missing without a default, or
   * not known, is an error. `names` receives a string list, `values` (room for 32) the values in
   * schema order, `positional` how many parameters come before them. Owned. Any thread. */
  tenon_status(TENON_CALL* bind_attributes)(const tenon_op* op, const tenon_string* keywords,
                                            const tenon_value* keyword_values,
                                            int64_t keyword_count, int64_t* positional,
                                            tenon_value* names, tenon_value* values,
                                            tenon_error** error);
  /* How many results the schema has; 0 while no plugin implements the op. Any thread. */
  int64_t(TENON_CALL* result_count)(const tenon_op* op);
  /* 1 when the schema writes the results in parentheses: "(Tensor y)" is a tuple of one, "Tensor"
   * is not. Any thread. */
  int32_t(TENON_CALL* returns_tuple)(const tenon_op* op);
  /* Position of the parameter that is named so in the op's schema. IndexError when no parameter
   * is. Any thread. */
  tenon_status(TENON_CALL* parameter)(const tenon_op* op, const char* name, int64_t length,
                                      int64_t* index, tenon_error** error);
  /* The op's schema; empty once its plugin is unloaded. A string. Owned. Any thread. */
  tenon_status(TENON_CALL* schema)(const tenon_op* op, tenon_value* schema, tenon_error** error);
  /* The account of call_keywords: each step that it would take now, and why, as a document; calls
   * nothing. A call that would fail has its error there. share/tenon/documents.md has the shape.
   * New reference. Calling thread only: modes and settings of this thread are part of the answer. */
  tenon_status(TENON_CALL* explain)(const tenon_op* op, const tenon_value* arguments, int64_t count,
                                    const tenon_string* keywords, const tenon_value* keyword_values,
                                    int64_t keyword_count, tenon_json** document,
                                    tenon_error** error);
  /* `explain` of a call whose operands are known by their types alone: shapes, gradients and the
   * choice between providers are not part of the answer. Positional arguments come first. New
   * reference. Calling thread only. */
  tenon_status(TENON_CALL* explain_types)(const tenon_op* op,
                                          const tenon_written_argument* arguments, int64_t count,
                                          tenon_json** document, tenon_error** error);
  /* call_filled for a method, a.add(b): handlers and modes see this spelling. Any thread. */
  tenon_status(TENON_CALL* call_method)(const tenon_op* op, const tenon_value* arguments,
                                        int64_t count, tenon_value* results, tenon_error** error);
  /* call_filled for an operator, a + b: handlers and modes see this spelling. Any thread. */
  tenon_status(TENON_CALL* call_operator)(const tenon_op* op, const tenon_value* arguments,
                                          int64_t count, tenon_value* results, tenon_error** error);
} tenon_ops_service;

#endif
