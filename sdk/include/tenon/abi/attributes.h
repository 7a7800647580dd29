/* Compiler attributes of the boundary: what is exported and how functions are called. */
#ifndef TENON_ABI_ATTRIBUTES_H
#define TENON_ABI_ATTRIBUTES_H

#if defined(__GNUC__)
#define TENON_EXPORT __attribute__((visibility("default")))
#else
#define TENON_EXPORT
#endif

/* The calling convention is named so that it can be pinned where a platform has several. */
#define TENON_CALL

#endif
