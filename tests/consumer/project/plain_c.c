/* The smallest plugin: an entry that provides nothing. */
#include <tenon/abi/abi.h>

static const tenon_plugin plain_c = {
    .size = sizeof(tenon_plugin),
    .abi_major = TENON_ABI_MAJOR,
    .abi_minor = TENON_TARGET_MINOR,
    .id = "plain_c",
    .version = "1.0.0",
};

TENON_EXPORT tenon_status TENON_CALL tenon_plugin_entry(const tenon_host* host,
                                                        const tenon_plugin** plugin,
                                                        tenon_error** error) {
  (void)host;
  (void)error;
  *plugin = &plain_c;
  return TENON_OK;
}
