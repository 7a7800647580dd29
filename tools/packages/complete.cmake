# Runs within CPack, between installation and packing: adds what Debian's packages have besides
# the files of Tenon, and makes all times that of SOURCE_DATE_EPOCH.
set(epoch $ENV{SOURCE_DATE_EPOCH})
if(epoch STREQUAL "")
  message(FATAL_ERROR "SOURCE_DATE_EPOCH is not set; run tools/package")
endif()

# A folder that is the root of a package.
function(complete_debian_package root name)
  file(GLOB programs ${root}/usr/bin/*)
  # The system's loader searches the folder that RUNPATH leads to, without it.
  foreach(program IN LISTS programs)
    file(RPATH_REMOVE FILE ${program})
  endforeach()
  file(GLOB_RECURSE libraries ${root}/usr/lib/*.so ${root}/usr/lib/*.so.*)
  foreach(library IN LISTS libraries)
    if(IS_SYMLINK ${library})
      continue()
    endif()
    file(CHMOD ${library} PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
  endforeach()
  set(doc ${root}/usr/share/doc/${name})
  file(MAKE_DIRECTORY ${doc})
  set(copyright ${CPACK_TENON_PACKAGES_SOURCE}/copyright)
  if(EXISTS ${copyright}.${name})
    set(copyright ${copyright}.${name})
  endif()
  file(COPY_FILE ${copyright} ${doc}/copyright)
  execute_process(COMMAND env LC_ALL=C date --utc --rfc-email --date=@${epoch}
    OUTPUT_VARIABLE date OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  file(WRITE ${doc}/changelog "tenon (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium\n\n"
    "  * Changes are in changelog.md of the package tenon-dev.\n\n"
    " -- ${CPACK_PACKAGE_CONTACT}  ${date}\n")
  file(GLOB pages ${root}/usr/share/man/man*/*)
  execute_process(COMMAND gzip -9n ${doc}/changelog ${pages} COMMAND_ERROR_IS_FATAL ANY)
  set(overrides ${CPACK_TENON_PACKAGES_SOURCE}/${name}.lintian-overrides)
  if(EXISTS ${overrides})
    file(MAKE_DIRECTORY ${root}/usr/share/lintian/overrides)
    file(COPY_FILE ${overrides} ${root}/usr/share/lintian/overrides/${name})
  endif()
endfunction()

foreach(name IN LISTS CPACK_COMPONENTS_ALL)
  complete_debian_package(${CPACK_TEMPORARY_DIRECTORY}/${name} ${name})
endforeach()
execute_process(COMMAND find ${CPACK_TEMPORARY_DIRECTORY} -exec touch --no-dereference --date=@${epoch} {} +
  COMMAND_ERROR_IS_FATAL ANY)
