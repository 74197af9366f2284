# tally_glsl(<target> FILES <file>... [DEBUG | LINES] [ENV <glslang target environment>] [VARIANTS <name>...])
#
# Compiles GLSL to SPIR-V at build time. For shaders/blur.comp, sources of <target> may
#   #include "blur.comp.h"        which defines   const uint32_t blur_comp[] = {...};
# With VARIANTS a b, the file is compiled for each with the macro KERNEL_<variant>: a_blur.comp.h, b_blur.comp.h.
# LINES keeps OpLine and OpSource; DEBUG writes NonSemantic.Shader.DebugInfo.100 with the source text.
include_guard(GLOBAL)
find_program(GLSLANG_VALIDATOR glslangValidator REQUIRED)

# absolute_dependencies(<variable> <depfile> <folder>): a command that makes the paths in what glslang writes, which are
# relative to <folder>, absolute. CMake would take them as relative to the build folder: then they do not exist, and all
# is built again each time.
function(absolute_dependencies variable depfile folder)
  set(${variable} sed -i -E "s| (\\./)?([^/ ][^ ]*)| ${folder}/\\2|g" ${depfile} PARENT_SCOPE)
endfunction()

add_custom_target(tally_generated)  # all headers that are made from GLSL, and nothing else

function(tally_glsl target)
  cmake_parse_arguments(ARG "DEBUG;LINES" "ENV" "FILES;VARIANTS" ${ARGN})
  set(flags --target-env vulkan1.1)
  if(ARG_ENV)
    set(flags --target-env ${ARG_ENV})
  endif()
  if(ARG_DEBUG)
    list(APPEND flags -gVS)
  elseif(ARG_LINES)
    list(APPEND flags -g)
  endif()
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${target}_glsl)
  file(MAKE_DIRECTORY ${folder})
  set(headers "")
  foreach(file IN LISTS ARG_FILES)
    cmake_path(GET file FILENAME name)
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    # Relative to the checkout, so that the name in the debug information is the same on every machine.
    cmake_path(RELATIVE_PATH file BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE relative)
    set(outputs ${name})
    if(ARG_VARIANTS)
      list(TRANSFORM ARG_VARIANTS APPEND _${name} OUTPUT_VARIABLE outputs)
    endif()
    foreach(output IN LISTS outputs)
      string(REPLACE "." "_" variable ${output})
      set(define "")
      if(ARG_VARIANTS)
        string(REGEX REPLACE "_${name}$" "" variant ${output})
        set(define -DKERNEL_${variant})
      endif()
      absolute_dependencies(make_absolute ${folder}/${output}.d ${PROJECT_SOURCE_DIR})
      add_custom_command(
        OUTPUT ${folder}/${output}.h
        COMMAND ${GLSLANG_VALIDATOR} -V --quiet ${flags} ${define} --depfile ${folder}/${output}.d
                --vn ${variable} -o ${folder}/${output}.h ${relative}
        COMMAND sed -i "1i #include <cstdint>" ${folder}/${output}.h
        COMMAND ${make_absolute}
        DEPENDS ${file}
        DEPFILE ${folder}/${output}.d
        WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
        COMMENT "GLSL ${output}"
        VERBATIM)
      target_sources(${target} PRIVATE ${folder}/${output}.h)
      list(APPEND headers ${folder}/${output}.h)
    endforeach()
  endforeach()
  target_include_directories(${target} PRIVATE ${folder})
  list(JOIN ARG_FILES " " files)
  string(MD5 key "${files}")
  add_custom_target(${target}_glsl_${key} DEPENDS ${headers})
  add_dependencies(tally_generated ${target}_glsl_${key})
endfunction()
