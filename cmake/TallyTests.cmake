# Tests. What a sanitizer is to know of the drivers and libraries we do not build stands in tests/support/*.supp.
set(TALLY_TEST_ENVIRONMENT "")
if(TALLY_SANITIZE MATCHES "address")
  list(APPEND TALLY_TEST_ENVIRONMENT
    "LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/support/lsan.supp:print_suppressions=0"
    "UBSAN_OPTIONS=print_stacktrace=1")
elseif(TALLY_SANITIZE MATCHES "thread")
  list(APPEND TALLY_TEST_ENVIRONMENT
    "TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/support/tsan.supp:ignore_noninstrumented_modules=1:second_deadlock_stack=1")
endif()

# LeakSanitizer's tracer dies beside the validation layer, and where a program of its own draws with llvmpipe's GL. Leaks are
# looked for in the same tests without the layer, and in those of the EGL library itself.
set(TALLY_LEAKS_ENVIRONMENT ${TALLY_TEST_ENVIRONMENT})
if(TALLY_SANITIZE MATCHES "address")
  list(APPEND TALLY_LEAKS_ENVIRONMENT "ASAN_OPTIONS=detect_leaks=0")
endif()
set(TALLY_VALIDATED_ENVIRONMENT "TALLY_TEST_VALIDATION=1" ${TALLY_LEAKS_ENVIRONMENT})

# tally_test(<name> SOURCES ... DEPS ... [LABELS ...]): a GoogleTest program run as one CTest test.
function(tally_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;LABELS" ${ARGN})
  if(NOT TALLY_BUILD_TESTS)
    return()
  endif()
  find_package(GTest REQUIRED)
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} GTest::gtest GTest::gmock GTest::gtest_main tally_build_flags)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES
    LABELS "unit;${ARG_LABELS}" TIMEOUT 600 ENVIRONMENT "${TALLY_TEST_ENVIRONMENT}")
endfunction()

# tally_vulkan_test(<name> [VERIFIED] SOURCES ... [DEPS ...] [DRIVERS ...] [LAYERS ...] [LABELS ...])
#
# A GoogleTest program on the harness of tests/support. CTest runs it once on each driver (all by default) as
# <name>.<driver> with the driver's name as label, and once more on lavapipe with the Khronos validation layer below
# as <name>.validated. LAYERS: targets of the layers it loads, built before it (tally_counters, tally_capture).
# VERIFIED: once more on lavapipe as <name>.verified, with the layer's setting verify_counts.
# Not there without the driver: the test is skipped, and fails where TALLY_REQUIRE_DRIVERS is set (scripts/test).
function(tally_vulkan_test name)
  cmake_parse_arguments(ARG "VERIFIED" "" "SOURCES;DEPS;DRIVERS;LAYERS;LABELS" ${ARGN})
  if(NOT TALLY_BUILD_TESTS)
    return()
  endif()
  if(NOT ARG_DRIVERS)
    set(ARG_DRIVERS lavapipe lavapipe-new swiftshader)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE tally_test_support ${ARG_DEPS} tally_build_flags)
  foreach(layer IN LISTS ARG_LAYERS)
    if(TARGET ${layer})
      add_dependencies(${name} ${layer})
    endif()
  endforeach()
  foreach(driver IN LISTS ARG_DRIVERS)
    add_test(NAME ${name}.${driver}
             COMMAND ${PROJECT_SOURCE_DIR}/scripts/with-driver ${driver} $<TARGET_FILE:${name}>)
    set_tests_properties(${name}.${driver} PROPERTIES
      LABELS "${driver};${ARG_LABELS}" TIMEOUT 600 SKIP_RETURN_CODE 77
      ENVIRONMENT "${TALLY_TEST_ENVIRONMENT}")
  endforeach()
  if("lavapipe" IN_LIST ARG_DRIVERS)
    add_test(NAME ${name}.validated
             COMMAND ${PROJECT_SOURCE_DIR}/scripts/with-driver lavapipe $<TARGET_FILE:${name}>)
    set_tests_properties(${name}.validated PROPERTIES
      LABELS "validated;${ARG_LABELS}" TIMEOUT 600
      ENVIRONMENT "${TALLY_VALIDATED_ENVIRONMENT}")
  endif()
  if(ARG_VERIFIED)
    add_test(NAME ${name}.verified
             COMMAND ${PROJECT_SOURCE_DIR}/scripts/with-driver lavapipe $<TARGET_FILE:${name}>)
    set_tests_properties(${name}.verified PROPERTIES
      LABELS "verified;${ARG_LABELS}" TIMEOUT 600
      ENVIRONMENT "TALLY_VERIFY_COUNTS=1;${TALLY_TEST_ENVIRONMENT}")
  endif()
endfunction()
