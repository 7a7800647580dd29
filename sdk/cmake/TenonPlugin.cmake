# tenon_add_plugin: one shared object that exports one symbol. The same function for everyone.

# tenon_add_plugin(NAME hello SOURCES hello.cpp [LINK library...] [RESIDENT] [WRAPPERS])
#
# Builds hello.so from C++ (17, or what CMAKE_CXX_STANDARD says) or C sources against the SDK's
# headers alone. It is installed to lib/tenon/plugins, unless TENON_PLUGIN_INSTALL is set to a false
# value. LINK names libraries that the plugin uses, such as OpenBLAS; a static library that an
# add_library above this call builds goes into the plugin whole, so that its definitions register.
# RESIDENT keeps the plugin mapped once it is loaded: for plugins whose libraries cannot be
# unloaded. WRAPPERS generates <hello_ops.hpp>, typed functions for its ops, for what links the
# target hello_ops; it is installed with the plugin.
function(tenon_add_plugin)
  cmake_parse_arguments(PARSE_ARGV 0 arg "RESIDENT;WRAPPERS" "NAME" "SOURCES;LINK")
  if(NOT arg_NAME OR NOT arg_SOURCES OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "usage: tenon_add_plugin(NAME name SOURCES file... [LINK library...] "
                        "[RESIDENT] [WRAPPERS]), called with: ${ARGV}")
  endif()

  add_library(${arg_NAME} MODULE ${arg_SOURCES})
  set_target_properties(${arg_NAME} PROPERTIES PREFIX "")
  tenon_compile_as_plugin(${arg_NAME})
  # Warnings are for Tenon's own tree, not for a project that includes it.
  target_link_libraries(${arg_NAME} PRIVATE tenon::sdk ${arg_LINK}
    $<$<BOOL:${tenon_IS_TOP_LEVEL}>:$<TARGET_NAME_IF_EXISTS:tenon_warnings>>)
  tenon_link_whole(${arg_NAME} ${arg_LINK})

  # The linker reports missing symbols, instead of the host when it loads the plugin.
  set(map ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/TenonPlugin.map)
  set_property(TARGET ${arg_NAME} APPEND PROPERTY LINK_DEPENDS ${map})
  target_link_options(${arg_NAME} PRIVATE
    LINKER:--version-script=${map}
    LINKER:--exclude-libs,ALL
    LINKER:--build-id
    LINKER:-z,now
    LINKER:-z,relro
    $<$<BOOL:${arg_RESIDENT}>:LINKER:-z,nodelete>)
  # Clang leaves the symbols of a sanitizer's runtime open in shared objects.
  get_directory_property(link_options LINK_OPTIONS)
  if(NOT "${CMAKE_C_COMPILER_ID}${CMAKE_CXX_COMPILER_ID}" MATCHES "Clang"
     OR NOT "${link_options} ${CMAKE_C_FLAGS} ${CMAKE_CXX_FLAGS}" MATCHES "-fsanitize")
    target_link_options(${arg_NAME} PRIVATE LINKER:-z,defs)
  endif()

  if(NOT DEFINED TENON_PLUGIN_INSTALL OR TENON_PLUGIN_INSTALL)
    include(GNUInstallDirs)
    install(TARGETS ${arg_NAME} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/tenon/plugins)
  endif()
  if(arg_WRAPPERS)
    tenon_add_wrappers(${arg_NAME} ${CMAKE_CURRENT_BINARY_DIR}/include "" "")
  endif()
endfunction()

# For tenon_add_plugin, and for precompiled headers that plugins share: how the target compiles.
function(tenon_compile_as_plugin target)
  set_target_properties(${target} PROPERTIES
    C_VISIBILITY_PRESET hidden
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    CXX_EXTENSIONS OFF)

  # plugin.hpp defines it as well; this is for sources that include another header before it.
  target_compile_definitions(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:TENON_PLUGIN_BUILD=1>)

  # Kernels are loops over floats: vectorize them, and promise the compiler that no code reads errno
  # or traps. A unique symbol would keep the plugin mapped for ever.
  target_compile_options(${target} PRIVATE
    -fno-math-errno
    -fno-trapping-math
    $<$<OR:$<CONFIG:Release,RelWithDebInfo>,$<STREQUAL:$<CONFIG>,>>:-O3>
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-gnu-unique>)
endfunction()

# For tenon_add_plugin: no code names the definitions of a static library, so that the linker would
# leave their files out. Objects, since an archive that is linked whole must not come twice, as it
# does where one static library links another.
function(tenon_link_whole plugin)
  foreach(library IN LISTS ARGN)
    if(NOT TARGET ${library})
      continue()
    endif()
    get_target_property(type ${library} TYPE)
    get_target_property(imported ${library} IMPORTED)
    if(type STREQUAL "STATIC_LIBRARY" AND NOT imported)
      target_sources(${plugin} PRIVATE $<TARGET_OBJECTS:${library}>)
    endif()
  endforeach()
endfunction()

# For tenon_add_plugin and the shipped plugins: writes <folder/hello_ops.hpp> below the include
# directory, and <folder/${methods}> where that is not empty.
function(tenon_add_wrappers plugin include folder methods)
  set(directory ${include}/${folder})
  set(files ${directory}/${plugin}_ops.hpp)
  # Within a build of Tenon its own generator; with an installed one the program.
  get_property(generator GLOBAL PROPERTY TENON_WRAPPERS_COMMAND)
  if(NOT generator)
    set(generator tenon::cli wrappers)
    if(NOT TARGET tenon::cli)
      message(FATAL_ERROR "WRAPPERS of ${plugin} needs the program tenon, which this Tenon was "
                          "installed without: install it with TENON_BUILD_TOOLS=ON")
    endif()
  endif()
  set(command ${generator} $<TARGET_FILE:${plugin}> -o ${files})
  if(methods)
    list(APPEND files ${directory}/${methods})
    list(APPEND command --methods ${directory}/${methods})
  endif()
  file(MAKE_DIRECTORY ${directory})
  list(GET generator 0 program)
  add_custom_command(OUTPUT ${files} COMMAND ${command} DEPENDS ${plugin} ${program}
    COMMENT "Writing typed wrappers of ${plugin}" VERBATIM)
  add_custom_target(${plugin}_wrappers ALL DEPENDS ${files})
  # All of them, for tools that read sources without building them.
  if(NOT TARGET tenon_wrappers)
    add_custom_target(tenon_wrappers)
  endif()
  add_dependencies(tenon_wrappers ${plugin}_wrappers)

  include(GNUInstallDirs)
  add_library(${plugin}_ops INTERFACE)
  target_include_directories(${plugin}_ops INTERFACE
    $<BUILD_INTERFACE:${include}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  add_dependencies(${plugin}_ops ${plugin}_wrappers)
  if(NOT DEFINED TENON_PLUGIN_INSTALL OR TENON_PLUGIN_INSTALL)
    install(FILES ${files} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${folder})
  endif()
endfunction()
