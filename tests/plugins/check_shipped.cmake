# Checks a shipped plugin: no faults, and no op that is skipped.
# cmake -DTENON=program -DPLUGIN=file -DSECONDS=30 -P check_shipped.cmake
execute_process(COMMAND ${TENON} check ${PLUGIN} --timeout ${SECONDS} --json
  OUTPUT_VARIABLE report RESULT_VARIABLE code)
if(NOT code EQUAL 0)
  message(FATAL_ERROR "tenon check ${PLUGIN} ended with ${code}:\n${report}")
endif()
string(JSON count LENGTH "${report}" items)
math(EXPR last "${count} - 1")
foreach(i RANGE ${last})
  string(JSON item GET "${report}" items ${i})
  string(JSON kind GET "${item}" kind)
  string(JSON state GET "${item}" state)
  if(kind STREQUAL "op" AND NOT state STREQUAL "ok")
    message(SEND_ERROR "an op is not checked:\n${item}")
  endif()
endforeach()
message(STATUS "${count} items of ${PLUGIN} checked")
