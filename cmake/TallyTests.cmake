# Tests, and the tier of each: docs/developer/testing.md.
#
# Labels that choose: "quick" (ctest --preset quick), "asan" and "tsan" (what .ci/run runs under the sanitizers; the target
# `sanitized` builds it), "oracle", "corpus", "egl", and the driver's name. Tests of the configuration `nightly` run with
# `ctest -C nightly` only; all others are the gate.
#
# llvmpipe compiles each shader without LLVM's optimiser, in half of the time, unless TALLY_OPTIMISING_DRIVERS is on.
# Sanitizers read what they need to know of drivers and libraries of others from tests/support/*.supp.
set(TALLY_TEST_ENVIRONMENT "")
if(NOT TALLY_OPTIMISING_DRIVERS)
  list(APPEND TALLY_TEST_ENVIRONMENT GALLIVM_PERF=nopt)
endif()
if(TALLY_SANITIZE MATCHES "address")
  list(APPEND TALLY_TEST_ENVIRONMENT
    "LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/support/lsan.supp:print_suppressions=0"
    "UBSAN_OPTIONS=print_stacktrace=1")
elseif(TALLY_SANITIZE MATCHES "thread")
  list(APPEND TALLY_TEST_ENVIRONMENT
    "TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/support/tsan.supp:ignore_noninstrumented_modules=1:second_deadlock_stack=1")
endif()

# LeakSanitizer's tracer process always dies ("Tracer caught signal 11") with the validation layer, and where a program
# of its own draws with llvmpipe's GL: those tests have the label "no-leak-check" and run without it. With a driver it dies
# now and then: those run through tests/support/with-leak-check. Leaks are looked for in the same code by the tests without.
set(TALLY_NO_LEAK_CHECK_ENVIRONMENT ${TALLY_TEST_ENVIRONMENT})
if(TALLY_SANITIZE MATCHES "address")
  list(APPEND TALLY_NO_LEAK_CHECK_ENVIRONMENT "ASAN_OPTIONS=detect_leaks=0")
endif()
set(TALLY_VALIDATED_ENVIRONMENT "TALLY_TEST_VALIDATION=1" ${TALLY_NO_LEAK_CHECK_ENVIRONMENT})

set(TALLY_DRIVERS lavapipe lavapipe-new swiftshader)

add_custom_target(sanitized)

# tally_sanitize(<program> [asan] [tsan]): .ci/run builds and runs the program under these sanitizers.
function(tally_sanitize program)
  if((TALLY_SANITIZE MATCHES "address" AND "asan" IN_LIST ARGN) OR (TALLY_SANITIZE MATCHES "thread" AND "tsan" IN_LIST ARGN))
    add_dependencies(sanitized ${program})
  endif()
endfunction()

# tally_add_test(<name> LABELS ... ENVIRONMENT ... [COST <seconds>] [CONFIGURATIONS ...] COMMAND ...)
function(tally_add_test name)
  cmake_parse_arguments(ARG "" "COST;TIMEOUT" "COMMAND;LABELS;ENVIRONMENT;CONFIGURATIONS" ${ARGN})
  if(ARG_CONFIGURATIONS)
    list(PREPEND ARG_CONFIGURATIONS CONFIGURATIONS)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 600)
  endif()
  if(TALLY_SANITIZE MATCHES "address" AND NOT "unit" IN_LIST ARG_LABELS AND NOT "no-leak-check" IN_LIST ARG_LABELS)
    list(POP_FRONT ARG_COMMAND program)
    if(TARGET ${program})
      set(program $<TARGET_FILE:${program}>)
    endif()
    list(PREPEND ARG_COMMAND ${PROJECT_SOURCE_DIR}/tests/support/with-leak-check ${program})
  endif()
  add_test(NAME ${name} COMMAND ${ARG_COMMAND} ${ARG_CONFIGURATIONS})
  set_tests_properties(${name} PROPERTIES
    LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT} SKIP_RETURN_CODE 77 ENVIRONMENT "${ARG_ENVIRONMENT}")
  if(ARG_COST)
    set_tests_properties(${name} PROPERTIES COST ${ARG_COST})
  endif()
endfunction()

# tally_test(<name> SOURCES ... DEPS ... [LABELS ...] [SANITIZE asan tsan] [COST <seconds>])
#
# A GoogleTest program that needs no driver, run as one CTest test: one for the unit tests of a folder of src/.
function(tally_test name)
  cmake_parse_arguments(ARG "" "COST" "SOURCES;DEPS;LABELS;SANITIZE" ${ARGN})
  if(NOT TALLY_BUILD_TESTS)
    return()
  endif()
  find_package(GTest REQUIRED)
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} GTest::gtest GTest::gmock GTest::gtest_main tally_program tally_test_flags)
  tally_use_pch(${name} TEST)
  tally_use_unity(${name})
  tally_sanitize(${name} ${ARG_SANITIZE})
  tally_add_test(${name} COMMAND ${name}
    LABELS unit quick ${ARG_LABELS} ${ARG_SANITIZE} ENVIRONMENT ${TALLY_TEST_ENVIRONMENT} COST ${ARG_COST})
endfunction()

# tally_vulkan_test(<name> [QUICK] [VERIFIED] [AHEAD] [UNVALIDATED] SOURCES ... [DEPS ...] [DRIVERS ...] [LAYERS ...] [LABELS ...]
#                   [RULES <filter>] [SHARDS <number>] [COST <seconds>] [SANITIZE asan tsan])
#
# A GoogleTest program on the harness of tests/support. CTest runs it once on each driver (all by default) as
# <name>.<driver> with the driver's name as label, and once more on lavapipe with the Khronos validation layer below
# as <name>.validated. LAYERS: targets of the layers it loads, built before it (tally_counters, tally_capture).
# RULES: a GoogleTest filter of the tests that do not depend on the driver. They run once, above the validation layer, as
# <name>.rules, and by night on every driver. SHARDS: each of the others in so many tests. COST: about how long it takes.
# QUICK: <name>.lavapipe is of the quick tier. VERIFIED: once more on lavapipe as <name>.verified, with the layer's setting
# verify_counts. AHEAD: once more on lavapipe as <name>.ahead, where threads of the layer compile pipelines.
# UNVALIDATED: not above the validation layer.
# Not there without the driver: the test is skipped, and fails where TALLY_REQUIRE_DRIVERS is set (scripts/test).
function(tally_vulkan_test name)
  cmake_parse_arguments(ARG "QUICK;VERIFIED;AHEAD;UNVALIDATED" "RULES;SHARDS;COST" "SOURCES;DEPS;DRIVERS;LAYERS;LABELS;SANITIZE" ${ARGN})
  if(NOT TALLY_BUILD_TESTS)
    return()
  endif()
  if(NOT ARG_DRIVERS)
    set(ARG_DRIVERS ${TALLY_DRIVERS})
  endif()
  if(WIN32)  # wine runs the programs on lavapipe alone
    set(ARG_DRIVERS lavapipe)
    set(ARG_UNVALIDATED TRUE)
    set(ARG_VERIFIED FALSE)
    set(ARG_RULES "")
    set(ARG_SHARDS "")
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE tally_test_support tally_test_skips ${ARG_DEPS} tally_program tally_test_flags)
  tally_use_pch(${name} TEST)
  tally_use_unity(${name})
  foreach(layer IN LISTS ARG_LAYERS)
    if(TARGET ${layer})
      add_dependencies(${name} ${layer})
    endif()
  endforeach()
  set(labels ${ARG_LABELS} ${ARG_SANITIZE})
  tally_sanitize(${name} ${ARG_SANITIZE})

  if(ARG_RULES AND TALLY_SANITIZE)  # which tell more without the validation layer
    tally_run_on(${name}.rules ${name} lavapipe-new FILTER ${ARG_RULES} LABELS rules ${labels}
      ENVIRONMENT ${TALLY_TEST_ENVIRONMENT})
  elseif(ARG_RULES)
    tally_run_on(${name}.rules ${name} lavapipe FILTER ${ARG_RULES} COST ${ARG_COST}
      LABELS quick rules validated ${labels} ENVIRONMENT ${TALLY_VALIDATED_ENVIRONMENT})
  endif()
  if(ARG_RULES)
    foreach(driver IN LISTS ARG_DRIVERS)
      tally_run_on(${name}.rules.${driver} ${name} ${driver} FILTER ${ARG_RULES} CONFIGURATIONS nightly
        LABELS nightly ${driver} ENVIRONMENT ${TALLY_TEST_ENVIRONMENT})
    endforeach()
    if(ARG_RULES STREQUAL "*")
      return()
    endif()
    set(filter FILTER -${ARG_RULES})
  endif()
  set(options ${filter} SHARDS ${ARG_SHARDS} COST ${ARG_COST})
  foreach(driver IN LISTS ARG_DRIVERS)
    set(tier "")
    if(ARG_QUICK AND driver STREQUAL "lavapipe")
      set(tier quick)
    endif()
    tally_run_on(${name}.${driver} ${name} ${driver} ${options}
      LABELS ${driver} ${tier} ${labels} ENVIRONMENT ${TALLY_TEST_ENVIRONMENT})
  endforeach()
  if("lavapipe" IN_LIST ARG_DRIVERS AND NOT ARG_UNVALIDATED)
    tally_run_on(${name}.validated ${name} lavapipe ${options}
      LABELS validated no-leak-check ${labels} ENVIRONMENT ${TALLY_VALIDATED_ENVIRONMENT})
  endif()
  if(ARG_VERIFIED)
    tally_run_on(${name}.verified ${name} lavapipe ${options}
      LABELS verified ${labels} ENVIRONMENT TALLY_VERIFY_COUNTS=1 ${TALLY_TEST_ENVIRONMENT})
  endif()
  if(ARG_AHEAD)
    tally_run_on(${name}.ahead ${name} lavapipe ${options}
      LABELS ahead ${labels} ENVIRONMENT TALLY_COMPILE_AHEAD=always ${TALLY_TEST_ENVIRONMENT})
  endif()
endfunction()

# tally_run_on(<test> <program> <driver> [FILTER <GoogleTest filter>] [SHARDS <number>] [COST ...] [CONFIGURATIONS ...]
#              LABELS ... ENVIRONMENT ...): a test, or <test>.1, <test>.2, ... for each shard, on the driver.
function(tally_run_on test program driver)
  cmake_parse_arguments(ARG "" "FILTER;SHARDS;COST" "ENVIRONMENT;LABELS;CONFIGURATIONS" ${ARGN})
  set(command ${PROJECT_SOURCE_DIR}/scripts/with-driver ${driver} $<TARGET_FILE:${program}>)
  if(WIN32)
    list(INSERT command 2 ${CMAKE_CROSSCOMPILING_EMULATOR} --vulkan)
  endif()
  if(ARG_FILTER)
    list(APPEND command --gtest_filter=${ARG_FILTER})
  endif()
  set(options COMMAND ${command} LABELS ${ARG_LABELS} COST ${ARG_COST} CONFIGURATIONS ${ARG_CONFIGURATIONS})
  if(NOT ARG_SHARDS)
    tally_add_test(${test} ${options} ENVIRONMENT ${ARG_ENVIRONMENT})
    if(WIN32)  # wine has one desktop, which ends with its X server
      set_tests_properties(${test} PROPERTIES RESOURCE_LOCK wine-desktop)
    endif()
    return()
  endif()
  foreach(shard RANGE 1 ${ARG_SHARDS})
    math(EXPR index "${shard} - 1")
    tally_add_test(${test}.${shard} ${options}
      ENVIRONMENT GTEST_TOTAL_SHARDS=${ARG_SHARDS} GTEST_SHARD_INDEX=${index} ${ARG_ENVIRONMENT})
  endforeach()
endfunction()
