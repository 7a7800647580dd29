/* Devices of a plugin, as applications and other plugins reach them.
 *
 * A plugin whose devices are named "sim:0", "sim:1" ... provides the tensor type `sim` and the
 * service "device.sim". A slot: needs an instance of the device. Not a slot: what an op can compute,
 * and the way back to the CPU, which is the type's conversion (types.to_plain). */
#ifndef TENON_DEVICE_SERVICE_H
#define TENON_DEVICE_SERVICE_H

#include "tenon/abi/abi.h"

#define TENON_DEVICE_SERVICE_VERSION 1 /* newest version of the table; grows with its slots */

/* Named "device.NAME". Append-only; any thread may call it. */
typedef struct tenon_device_service {
  tenon_service head; /* size and version */
  /* How many instances there are. */
  int64_t(TENON_CALL* count)(void);
  /* A tensor on instance `index` with the elements of a plain one, which is read before the slot
   * returns. Not recorded. IndexError without such an instance, MemoryError without memory. New
   * reference. */
  tenon_status(TENON_CALL* upload)(tenon_tensor* plain, int64_t index, tenon_tensor** result,
                                   tenon_error** error);
  /* The instance that a tensor of the type is on. */
  int64_t(TENON_CALL* index)(const tenon_tensor* tensor);
  /* Returns once all that was begun on the instance has ended; raises what has failed meanwhile. */
  tenon_status(TENON_CALL* synchronize)(int64_t index, tenon_error** error);
  /* Bytes that tensors take on the instance, and those that it has; -1: not known. */
  tenon_status(TENON_CALL* memory)(int64_t index, int64_t* used, int64_t* total,
                                   tenon_error** error);
} tenon_device_service;

#endif
