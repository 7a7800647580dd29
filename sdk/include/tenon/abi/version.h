/* Versions: of the product, and of the boundary between host and plugin. The one source of both. */
#ifndef TENON_ABI_VERSION_H
#define TENON_ABI_VERSION_H

/* The product's version. */
#define TENON_VERSION_MAJOR 1
#define TENON_VERSION_MINOR 0
#define TENON_VERSION_PATCH 0

/* A host and a plugin with different majors refuse each other. The minor grows when a service of
 * the host gets a slot; a host serves plugins of the same minor and of older ones. */
#define TENON_ABI_MAJOR 1
#define TENON_ABI_MINOR 0
/* The oldest minor that this SDK supports, and the one that a plugin needs unless it asks for a
 * newer one through TENON_TARGET_MINOR. */
#define TENON_ABI_OLDEST_MINOR 0

/* The host minor that this build relies on. Define it before the first include to use newer slots:
 * a slot of a newer minor than the target does not compile. */
#ifndef TENON_TARGET_MINOR
#define TENON_TARGET_MINOR TENON_ABI_OLDEST_MINOR /* unless the build defines it */
#endif

#if TENON_TARGET_MINOR < TENON_ABI_OLDEST_MINOR
#error "TENON_TARGET_MINOR is older than the oldest boundary that this SDK supports"
#endif
#if TENON_TARGET_MINOR > TENON_ABI_MINOR
#error "TENON_TARGET_MINOR is newer than this SDK: update the SDK or lower the target"
#endif

#endif
