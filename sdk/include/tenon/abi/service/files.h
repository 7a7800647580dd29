/* Files: named tensors and the state of modules as safetensors files.
 *
 * A slot: moves bytes between tensors and a file. Not a slot: another format.
 *
 *   tenon_status status = tenon_files->module_save(model, "model.safetensors", error);
 *
 * Any thread. Values are owned by the caller. */
#ifndef TENON_ABI_SERVICE_FILES_H
#define TENON_ABI_SERVICE_FILES_H

#include "service.h"

#define TENON_FILES_VERSION 1

/* Named "tenon.files". */
typedef struct tenon_files_service {
  tenon_service head;

  /* Saves named tensors as a safetensors file. Replaces the whole file, or leaves the old one. Any
   * thread. */
  tenon_status(TENON_CALL* tensors_save)(const char* path, const tenon_string* names,
                                         tenon_tensor* const* tensors, int64_t count,
                                         tenon_error** error);
  /* tensors_save and module_save that write metadata: an object of strings, kept in the file's
   * "__metadata__". ValueError for a key that the host uses. Any thread. */
  tenon_status(TENON_CALL* tensors_save_metadata)(const char* path, const tenon_string* names,
                                                  tenon_tensor* const* tensors, int64_t count,
                                                  const tenon_json* metadata, tenon_error** error);
  /* `names` receives a string list, `tensors` a tensor list of the same length. Owned. Any thread.
   * */
  tenon_status(TENON_CALL* tensors_load)(const char* path, tenon_value* names, tenon_value* tensors,
                                         tenon_error** error);
  /* tensors_load without a copy: the data is mapped, and a page is read when it is first used.
   * Writing to a tensor changes it alone, never the file; the file must not be shortened as long
   * as a tensor is used. Owned. Any thread. */
  tenon_status(TENON_CALL* tensors_map)(const char* path, tenon_value* names, tenon_value* tensors,
                                        tenon_error** error);
  /* The metadata of such a file, an object of strings. New reference. Any thread. */
  tenon_status(TENON_CALL* tensors_metadata)(const char* path, tenon_json** metadata,
                                             tenon_error** error);
  /* Saves parameters and persistent buffers as a safetensors file. Replaces the whole file, or
   * leaves the old one. Any thread. */
  tenon_status(TENON_CALL* module_save)(tenon_module* module, const char* path,
                                        tenon_error** error);
  tenon_status(TENON_CALL* module_save_metadata)(tenon_module* module, const char* path,
                                                 const tenon_json* metadata, tenon_error** error);
  /* Loads such a file. `flags`: TENON_LOAD_ bits. Without TENON_LOAD_STRICT missing and unexpected
   * names are accepted, which the two string lists receive; either may be null. A size that
   * differs is always an error. All or none. Owned. Any thread. */
  tenon_status(TENON_CALL* module_load)(tenon_module* module, const char* path, uint32_t flags,
                                        tenon_value* missing, tenon_value* unexpected,
                                        tenon_error** error);
  /* Writes a whole file, or leaves the old one. Any thread. */
  tenon_status(TENON_CALL* write)(const char* path, const char* data, int64_t length,
                                  tenon_error** error);
} tenon_files_service;

#endif
