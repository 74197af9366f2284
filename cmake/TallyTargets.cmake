# tally_library(<folder> SOURCES ... DEPS ...): one static library a folder of src/, named tally_<folder>.
function(tally_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_library(tally_${name} STATIC ${ARG_SOURCES})
  target_include_directories(tally_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(tally_${name} PUBLIC ${ARG_DEPS} PRIVATE tally_build_flags)
endfunction()
