/* Compiler attributes of the boundary: exported symbols and the calling convention. */
#ifndef TENON_ABI_ATTRIBUTES_H
#define TENON_ABI_ATTRIBUTES_H

/* Makes a symbol visible outside of its shared library: a plugin's entry, and tenon_host_get. */
#if defined(__GNUC__)
#define TENON_EXPORT __attribute__((visibility("default")))
#else
#define TENON_EXPORT /* symbols are visible */
#endif

/* The calling convention of every function pointer at the boundary. Empty: the platform's default.
 * It has a name so that it can be pinned on platforms that have several. */
#define TENON_CALL

#endif
