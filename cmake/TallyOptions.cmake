# The choices of a build. Presets (CMakePresets.json) set them; the defaults suit a packager.
option(TALLY_BUILD_TESTS "Build the tests" ON)
option(TALLY_BUILD_EXAMPLES "Build the examples" ON)
option(TALLY_BUILD_BENCH "Build the benchmarks" OFF)
option(TALLY_BUILD_FUZZERS "Build the libFuzzer targets (needs clang)" OFF)
set(TALLY_SANITIZE "" CACHE STRING "Value for -fsanitize=, e.g. address,undefined or thread")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

# What a loader opens stands in <build>/lib beside its manifest, programs in <build>/bin.
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
endif()

add_library(tally_build_flags INTERFACE)
target_compile_options(tally_build_flags INTERFACE
  -Wall -Wextra -Wno-missing-field-initializers -Werror -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-qual)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 takes std::string's own operator+ for an overlapping copy (its bug 105329).
  target_compile_options(tally_build_flags INTERFACE -Wno-restrict)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_compile_options(tally_build_flags INTERFACE -fconstexpr-steps=8000000)  # a table of a thousand names is sorted
endif()
if(TALLY_SANITIZE)
  target_compile_options(tally_build_flags INTERFACE
    -fsanitize=${TALLY_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(tally_build_flags INTERFACE -fsanitize=${TALLY_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    target_compile_options(tally_build_flags INTERFACE -fno-sanitize=function)  # one do_nothing stands for all of GL
  endif()
endif()
if(TALLY_BUILD_FUZZERS)
  target_compile_options(tally_build_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# Where the Vulkan loader looks for explicit layers, below the prefix.
set(TALLY_INSTALL_LAYERDIR ${CMAKE_INSTALL_DATADIR}/vulkan/explicit_layer.d)
