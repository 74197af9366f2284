# Precompiled headers, where TALLY_PCH is on: one for the libraries, one for the test programs. Every header that a file
# needs is included by that file all the same: the presets `package`, `fuzz` and `tidy` build without.
set(CMAKE_PCH_WARN_INVALID OFF)  # a precompiled header that does not suit costs time, nothing else

set(TALLY_PCH_LIBRARY_HEADERS
  <algorithm> <array> <atomic> <chrono> <cstdint> <cstring> <deque> <filesystem> <fstream> <functional> <map> <memory>
  <mutex> <optional> <set> <span> <string> <string_view> <thread> <unordered_map> <utility> <vector>
  <fmt/format.h> <vulkan/vulkan_core.h>)

# tally_pch_flags(<target>): what ccache needs to cache a compilation with a precompiled header; it also needs
# CCACHE_SLOPPINESS=pch_defines,time_macros (scripts/common.sh).
function(tally_pch_flags target)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
  elseif(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>)
  endif()
endfunction()

# tally_use_pch(<target> LIBRARY | TEST)
function(tally_use_pch target kind)
  if(NOT TALLY_PCH)
    return()
  endif()
  string(TOLOWER tally_${kind}_pch pch)
  tally_pch_flags(${target})
  target_precompile_headers(${target} REUSE_FROM ${pch})
endfunction()

# The targets that hold them. Their flags are those of the targets that use them: an executable is compiled with -fPIE, a
# library with -fPIC.
function(tally_add_pchs)
  if(NOT TALLY_PCH)
    return()
  endif()
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/pch/empty.cpp CONTENT "int main() { return 0; }\n")
  add_library(tally_library_pch OBJECT EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/pch/empty.cpp)
  target_link_libraries(tally_library_pch PRIVATE tally_fmt Threads::Threads Vulkan::Headers tally_build_flags)
  target_precompile_headers(tally_library_pch PRIVATE ${TALLY_PCH_LIBRARY_HEADERS})
  tally_pch_flags(tally_library_pch)
  if(TALLY_BUILD_TESTS)
    find_package(GTest REQUIRED)
    add_executable(tally_test_pch EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/pch/empty.cpp)
    target_link_libraries(tally_test_pch PRIVATE
      tally_fmt Threads::Threads Vulkan::Headers GTest::gtest GTest::gmock tally_test_flags)
    target_precompile_headers(tally_test_pch PRIVATE ${TALLY_PCH_LIBRARY_HEADERS} <gmock/gmock.h> <gtest/gtest.h>)
    tally_pch_flags(tally_test_pch)
  endif()
endfunction()
