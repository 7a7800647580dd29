/* Versions: of the product, and of the boundary between host and plugin. The one source of both. */
#ifndef TENON_ABI_VERSION_H
#define TENON_ABI_VERSION_H

#define TENON_VERSION_MAJOR 0
#define TENON_VERSION_MINOR 1
#define TENON_VERSION_PATCH 0

/* Same major: the binaries can talk. Minor: how many host slots exist; slots are only ever
 * appended. */
#define TENON_ABI_MAJOR 1
#define TENON_ABI_MINOR 0
/* The oldest minor that this host still serves, and that a plugin needs unless it asks for more. */
#define TENON_ABI_OLDEST_MINOR 0

/* The host minor that this build may rely on. Define it before the first include to use newer
 * slots: each slot carries the minor that brought it, and newer ones do not compile below their
 * minor. */
#ifndef TENON_TARGET_MINOR
#define TENON_TARGET_MINOR TENON_ABI_OLDEST_MINOR
#endif

#if TENON_TARGET_MINOR < TENON_ABI_OLDEST_MINOR
#error "TENON_TARGET_MINOR is older than the oldest boundary that this SDK supports"
#endif
#if TENON_TARGET_MINOR > TENON_ABI_MINOR
#error "TENON_TARGET_MINOR is newer than this SDK: update the SDK or lower the target"
#endif

#endif
