# Build policy: default configuration, ccache, warnings, sanitizers.

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

# ccache, where it is installed, answers for what was compiled before, unless another launcher is given.
if(PROJECT_IS_TOP_LEVEL)
  find_program(TENON_CCACHE ccache DOC "Caches compilations; OFF: none")
  mark_as_advanced(TENON_CCACHE)
  foreach(language C CXX)
    if(TENON_CCACHE AND NOT DEFINED CMAKE_${language}_COMPILER_LAUNCHER)
      set(CMAKE_${language}_COMPILER_LAUNCHER ${CMAKE_CURRENT_LIST_DIR}/cached ${TENON_CCACHE})
      add_compile_options(
        $<$<COMPILE_LANG_AND_ID:${language},GNU>:-fpch-preprocess>
        "$<$<COMPILE_LANG_AND_ID:${language},Clang>:SHELL:-Xclang -fno-pch-timestamp>")
    endif()
  endforeach()
endif()

# tenon_join_sources(target group file...)
#
# Compiles the files as one, so that what they have in common is parsed, instantiated and emitted once: for
# files of different names inside, none of them a kernel whose inlining matters.
option(TENON_JOIN_SOURCES "Compile groups of sources as one file" ON)
function(tenon_join_sources target group)
  if(TENON_JOIN_SOURCES)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
    set_property(SOURCE ${ARGN} PROPERTY UNITY_GROUP ${target}_${group})
  endif()
endfunction()

# tenon_join_all_sources(target size)
#
# Compiles all files of the target as a few, of up to `size` files each.
function(tenon_join_all_sources target size)
  if(TENON_JOIN_SOURCES)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${size})
  endif()
endfunction()

# Linked privately by every target of ours; users of the SDK never see these flags.
add_library(tenon_warnings INTERFACE)
target_compile_options(tenon_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow $<$<BOOL:${TENON_WERROR}>:-Werror>
  # GCC 12 sees overlapping copies in "text" + std::string (its bug 105651).
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict>
  # With precompiled headers it reports such copies inside of the library's own headers, too.
  "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread>"
  # and members of std::regex without a value, where a sanitizer is on (its bug 105562).
  $<$<AND:$<COMPILE_LANG_AND_ID:CXX,GNU>,$<BOOL:${TENON_SANITIZE}>>:-Wno-maybe-uninitialized>
  # doctest and benchmark number their cases with __COUNTER__, which Clang 22 calls an extension; it also
  # reports inside of the headers of libstdc++ 12 and fmt 9 that these use what they deprecate themselves.
  "$<$<AND:$<COMPILE_LANG_AND_ID:CXX,Clang>,$<VERSION_GREATER_EQUAL:$<CXX_COMPILER_VERSION>,22>>:-Wno-c2y-extensions;-Wno-deprecated-declarations>")

# Code that runs once for a command, a file or a step of training: compiled in two thirds of the time, for
# the sake of the first build.
add_library(tenon_quickly_compiled INTERFACE)
target_compile_options(tenon_quickly_compiled INTERFACE $<$<CONFIG:Release>:-O1>)

# Directory-wide: host and plugins alike, as another processor would have them.
if(TENON_ISA STREQUAL "scalar")
  add_compile_definitions(TENON_SCALAR)
  add_compile_options(-fno-tree-vectorize -fno-tree-slp-vectorize)
elseif(TENON_ISA)
  message(FATAL_ERROR "TENON_ISA is '${TENON_ISA}': leave it empty, or set it to scalar")
endif()

# Directory-wide, because a sanitizer must cover host and plugins alike.
if(TENON_SANITIZE)
  list(JOIN TENON_SANITIZE "," sanitizers)
  set(TENON_SANITIZE_FLAGS -fsanitize=${sanitizers} -fno-sanitize-recover=all)
  add_compile_options(${TENON_SANITIZE_FLAGS} -fno-omit-frame-pointer)
  add_link_options(${TENON_SANITIZE_FLAGS})
  # As GCC and Clang 22 do themselves, and Clang 14 does not.
  foreach(sanitizer address thread)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND sanitizer IN_LIST TENON_SANITIZE)
      string(TOUPPER __sanitize_${sanitizer}__ macro)
      add_compile_definitions(${macro}=1)
    endif()
  endforeach()
endif()
