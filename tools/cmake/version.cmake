# Reads the product's and the boundary's version from the header that plugins are compiled against.

# Sets TENON_VERSION (x.y.z), TENON_ABI_MAJOR and TENON_ABI_MINOR for the caller.
function(tenon_read_version header)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
  file(READ ${header} text)
  foreach(name IN ITEMS VERSION_MAJOR VERSION_MINOR VERSION_PATCH ABI_MAJOR ABI_MINOR)
    if(NOT text MATCHES "#define TENON_${name} +([0-9]+)u?\n")
      message(FATAL_ERROR "${header} does not define TENON_${name} as a plain number")
    endif()
    set(${name} ${CMAKE_MATCH_1})
  endforeach()
  set(TENON_VERSION ${VERSION_MAJOR}.${VERSION_MINOR}.${VERSION_PATCH} PARENT_SCOPE)
  set(TENON_ABI_MAJOR ${ABI_MAJOR} PARENT_SCOPE)
  set(TENON_ABI_MINOR ${ABI_MINOR} PARENT_SCOPE)
endfunction()
