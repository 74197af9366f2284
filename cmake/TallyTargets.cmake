# With TALLY_UNITY, the files of a target are compiled several at once: the headers are read once for all of them. Names in
# anonymous namespaces must then be unique in the target. A target that cannot have that sets UNITY_BUILD to OFF, a file
# SKIP_UNITY_BUILD_INCLUSION to ON.
function(tally_use_unity target)
  if(NOT TALLY_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # It takes a class that a .cpp file defines for one of a header.
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  endif()
endfunction()

# tally_library(<folder> SOURCES ... DEPS ...): one static library a folder of src/, named tally_<folder>.
function(tally_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_library(tally_${name} STATIC ${ARG_SOURCES})
  target_include_directories(tally_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(tally_${name} PUBLIC ${ARG_DEPS} PRIVATE tally_build_flags)
  tally_use_pch(tally_${name} LIBRARY)
  tally_use_unity(tally_${name})
endfunction()

# tally_layer(<name> SOURCES ... DEPS ...): the Vulkan layer libVkLayer_tally_<name>.so as target tally_<name>, on Windows
# VkLayer_tally_<name>.dll. Its sources mark what the loader finds with TALLY_LAYER_ENTRY.
#
# Its manifest is made from VkLayer_tally_<name>.json.in in the current folder, twice: in the build tree next to the
# library, and for the installation with the way from the manifests' folder to the libraries', so that an installed
# tree may be moved. The template says @TALLY_LAYER_LIBRARY@ and @PROJECT_VERSION@.
function(tally_layer name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  set(target tally_${name})
  set(manifest VkLayer_tally_${name}.json)
  add_library(${target} MODULE ${ARG_SOURCES})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME VkLayer_tally_${name})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(${target} PRIVATE ${ARG_DEPS} tally_build_flags)
  # Nothing but the entry points is visible to the application that the layer is loaded into. The layer stays loaded
  # when the loader lets go of it (on Windows by platform::stay_loaded): its tables of handles are never freed, for
  # applications that call Vulkan while they are torn down.
  if(WIN32)
    target_compile_definitions(${target} PRIVATE "TALLY_LAYER_ENTRY=__declspec(dllexport)")
    set_target_properties(${target} PROPERTIES PREFIX "")
    set(library VkLayer_tally_${name}.dll)
    set(TALLY_LAYER_LIBRARY .\\\\${library})  # the loader takes a name without a backslash for one of the system's
  else()
    target_compile_definitions(${target} PRIVATE "TALLY_LAYER_ENTRY=__attribute__((visibility(\"default\")))")
    target_link_options(${target} PRIVATE -Wl,--exclude-libs,ALL -Wl,-Bsymbolic -Wl,-z,nodelete)
    set(library libVkLayer_tally_${name}.so)
    set(TALLY_LAYER_LIBRARY ./${library})
  endif()
  configure_file(${manifest}.in ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/${manifest} @ONLY)
  if(NOT WIN32)
    file(RELATIVE_PATH TALLY_LAYER_LIBRARY
      /prefix/${TALLY_INSTALL_LAYERDIR} /prefix/${CMAKE_INSTALL_LIBDIR}/${library})
  endif()
  configure_file(${manifest}.in ${CMAKE_CURRENT_BINARY_DIR}/install/${manifest} @ONLY)
  install(TARGETS ${target} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/install/${manifest} DESTINATION ${TALLY_INSTALL_LAYERDIR})
endfunction()
