# tenon_package(NAME SUMMARY TEXT [SECTION section] [DEPENDS package...] [NEEDS package...] [RECOMMENDS package...])
#
# A Debian package, of what the folder that calls this installs from here on. SUMMARY: at most 80 characters, without a
# full stop; TEXT: its description, in such lines. DEPENDS: packages of this build in the same version; NEEDS: others, besides
# those that dpkg-shlibdeps finds.
macro(tenon_package name summary text)
  cmake_parse_arguments(package "" "SECTION" "DEPENDS;NEEDS;RECOMMENDS" ${ARGN})
  set_property(GLOBAL APPEND PROPERTY TENON_PACKAGES ${name})
  set_property(GLOBAL PROPERTY TENON_PACKAGE_${name}_SUMMARY "${summary}")
  set_property(GLOBAL PROPERTY TENON_PACKAGE_${name}_TEXT "${text}")
  foreach(field SECTION DEPENDS NEEDS RECOMMENDS)
    set_property(GLOBAL PROPERTY TENON_PACKAGE_${name}_${field} ${package_${field}})
  endforeach()
  set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME ${name})
endmacro()
