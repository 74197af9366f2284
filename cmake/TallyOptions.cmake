# The choices of a build. Presets (CMakePresets.json) set them; the defaults suit a packager.
option(TALLY_BUILD_TESTS "Build the tests" ON)
option(TALLY_BUILD_EXAMPLES "Build the examples" ON)
option(TALLY_BUILD_BENCH "Build the benchmarks" OFF)
option(TALLY_BUILD_FUZZERS "Build the libFuzzer targets (needs clang)" OFF)
set(TALLY_BUILD "" CACHE STRING "The sources' version in `tally --version`; by default the output of git describe")
set(TALLY_SANITIZE "" CACHE STRING "Value for -fsanitize=, e.g. address,undefined or thread")
# These speed up development builds; the presets enable them.
option(TALLY_PCH "Precompile the headers that most files include" OFF)
option(TALLY_UNITY "Compile several files of a library at once" OFF)
option(TALLY_FAST_LINKER "Link with mold or lld where one is installed" OFF)
option(TALLY_PORTABLE "Link all but the C library statically, for a tarball that runs on other distributions" OFF)
option(TALLY_OPTIMISING_DRIVERS "Let llvmpipe optimise its code in the tests: three times the time" OFF)

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

# Files that a loader opens are in <build>/lib with their manifests, programs in <build>/bin.
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
endif()

add_library(tally_build_flags INTERFACE)
target_compile_options(tally_build_flags INTERFACE
  -Wall -Wextra -Wno-missing-field-initializers -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-qual
  # In a unity build, names of one file seem to shadow those of another.
  $<$<NOT:$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>>:-Wshadow>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # At -O3, GCC 12 takes std::string's own operator+ for an overlapping copy or one out of bounds (its bugs 105329, 105651).
  target_compile_options(tally_build_flags INTERFACE -Wno-error=restrict -Wno-error=array-bounds
    -Wno-error=maybe-uninitialized -Wno-error=stringop-overflow -Wno-error=stringop-overread)
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

# Each program links this; src/base fills it on Windows.
add_library(tally_program INTERFACE)

if(TALLY_PORTABLE)
  # The libraries of drivers in the same process then do not matter: they may need newer versions of the same libraries.
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a .so)
  target_link_options(tally_build_flags INTERFACE -static-libstdc++ -static-libgcc)
endif()

# Tests are compiled with little optimisation: compiling them takes longer than running them, above all under a sanitizer.
add_library(tally_test_flags INTERFACE)
target_link_libraries(tally_test_flags INTERFACE tally_build_flags)
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  target_compile_options(tally_test_flags INTERFACE -O1)
elseif(TALLY_SANITIZE)
  target_compile_options(tally_test_flags INTERFACE -O0)
endif()

if(TALLY_FAST_LINKER)
  include(CheckLinkerFlag)
  foreach(linker mold lld)
    check_linker_flag(CXX -fuse-ld=${linker} TALLY_HAS_${linker})
    if(TALLY_HAS_${linker})
      add_link_options(-fuse-ld=${linker})
      break()
    endif()
  endforeach()
endif()

# Where the Vulkan loader looks for explicit layers, below the prefix.
if(WIN32)  # as in the build tree
  set(TALLY_INSTALL_LAYERDIR ${CMAKE_INSTALL_LIBDIR})
  set(TALLY_INSTALL_RUNDIR ${CMAKE_INSTALL_LIBDIR}/run)
else()
  set(TALLY_INSTALL_LAYERDIR ${CMAKE_INSTALL_DATADIR}/vulkan/explicit_layer.d)
  set(TALLY_INSTALL_RUNDIR ${CMAKE_INSTALL_DATADIR}/tally/explicit_layer.d)
endif()
