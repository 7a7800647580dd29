# How tests are added: doctest suites of this build, and whole projects against an installed Tenon.

add_library(tenon_test_main OBJECT ${CMAKE_CURRENT_LIST_DIR}/main.cpp)
target_compile_features(tenon_test_main PUBLIC cxx_std_20)
target_include_directories(tenon_test_main PUBLIC ${PROJECT_SOURCE_DIR})
target_link_libraries(tenon_test_main PUBLIC doctest::doctest tenon_warnings)
# Tests are compiled more often than they run: spend no time on optimizing them.
target_compile_options(tenon_test_main PUBLIC -O0)

# tenon_add_tests(core SOURCES tensor/shape_test.cpp... [LINK tenon_core] [PRECOMPILE <header>...])
#
# One program for an area, tenon_core_tests (for lib/config tenon_lib_config_tests), and one ctest entry
# for each x_test.cpp: core/tensor/shape. Other sources are helpers.
function(tenon_add_tests area)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK;PRECOMPILE")
  if(NOT arg_SOURCES)
    return()
  endif()
  string(REPLACE / _ program tenon_${area}_tests)
  add_executable(${program} ${arg_SOURCES})
  target_link_libraries(${program} PRIVATE tenon_test_main ${arg_LINK})
  target_precompile_headers(${program} PRIVATE <doctest/doctest.h> <string> <vector> ${arg_PRECOMPILE})
  foreach(source IN LISTS arg_SOURCES)
    if(source MATCHES "^(.+)_test\\.cpp$")
      set(test ${area}/${CMAKE_MATCH_1})
      add_test(NAME ${test}
        COMMAND ${program} --no-colors "--source-file=*/tests/${area}/${source}")
      # A file whose cases are not found must not pass.
      set_tests_properties(${test} PROPERTIES
        LABELS ${area} FAIL_REGULAR_EXPRESSION "test cases: +0 " SKIP_RETURN_CODE 77)
    endif()
  endforeach()
endfunction()

# tenon_add_project_test(consumer SOURCE_DIR dir [UNOPTIMIZED] [EXCLUDE regex])
#
# Configures and builds the project in dir against a staged installation and runs its tests but those
# that EXCLUDE matches; UNOPTIMIZED where they compile for longer than they run.
set(TENON_STAGE ${PROJECT_BINARY_DIR}/stage)
# For another processor, as the build is: packages are looked for in folders of that one alone.
set(TENON_PROJECT_TOOLCHAIN)
if(CMAKE_CROSSCOMPILING)
  set(TENON_PROJECT_TOOLCHAIN
    -DCMAKE_TOOLCHAIN_FILE=${CMAKE_TOOLCHAIN_FILE} -DCMAKE_FIND_ROOT_PATH=${TENON_STAGE})
endif()

# tenon_not_emulated("why" TEST...)
#
# Tests that emulation cannot run; the preset for aarch64 excludes their label.
function(tenon_not_emulated reason)
  if(CMAKE_CROSSCOMPILING)
    set_property(TEST ${ARGN} APPEND PROPERTY LABELS not_emulated)
    list(JOIN ARGN ", " tests)
    message(STATUS "not tested under emulation: ${tests}: ${reason}")
  endif()
endfunction()
add_test(NAME install/clear COMMAND ${CMAKE_COMMAND} -E rm -rf ${TENON_STAGE})
add_test(NAME install/stage
  COMMAND ${CMAKE_COMMAND} --install ${PROJECT_BINARY_DIR} --prefix ${TENON_STAGE})
# Long entries wait for these.
set_tests_properties(install/clear install/stage PROPERTIES COST 100)
set_tests_properties(install/clear PROPERTIES FIXTURES_SETUP cleared_stage)
set_tests_properties(install/stage PROPERTIES FIXTURES_REQUIRED cleared_stage FIXTURES_SETUP stage)
function(tenon_add_project_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "UNOPTIMIZED" "SOURCE_DIR;EXCLUDE" "")
  list(JOIN TENON_SANITIZE_FLAGS " " flags)
  set(build_type -DCMAKE_BUILD_TYPE=${CMAKE_BUILD_TYPE})
  if(arg_UNOPTIMIZED)
    set(build_type -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-O0 -DCMAKE_CXX_FLAGS_DEBUG=-O0)
  endif()
  set(exclude)
  if(arg_EXCLUDE)
    set(exclude --exclude-regex ${arg_EXCLUDE})
  endif()
  add_test(NAME ${name} COMMAND ${CMAKE_CTEST_COMMAND}
    --build-and-test ${arg_SOURCE_DIR} ${CMAKE_CURRENT_BINARY_DIR}/${name}.project
    --build-generator ${CMAKE_GENERATOR}
    --build-options
      -DCMAKE_PREFIX_PATH=${TENON_STAGE}
      ${TENON_PROJECT_TOOLCHAIN}
      ${build_type}
      -DCMAKE_C_COMPILER=${CMAKE_C_COMPILER} -DCMAKE_C_FLAGS=${flags}
      -DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER} -DCMAKE_CXX_FLAGS=${flags}
      # Packages that an installed Tenon must do without.
      -DCMAKE_DISABLE_FIND_PACKAGE_Boost=ON
      -DCMAKE_DISABLE_FIND_PACKAGE_spdlog=ON
    --test-command ${CMAKE_CTEST_COMMAND} --output-on-failure --no-tests=error ${exclude})
  set_tests_properties(${name} PROPERTIES LABELS install FIXTURES_REQUIRED stage)
endfunction()

# For jobs of MPI: Open MPI leaves memory behind, in modules that it has unmapped, which no
# suppression can name.
function(tenon_ignore_leaks test)
  set_property(TEST ${test} APPEND PROPERTY
    ENVIRONMENT_MODIFICATION ASAN_OPTIONS=string_append::detect_leaks=0)
endfunction()
