include(GoogleTest)

# ctest ends by saying why groups were skipped.
file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/CTestCustom.cmake" @ONLY CONTENT [[
set(CTEST_CUSTOM_POST_TEST
    "\"@CMAKE_COMMAND@\" \"-DBUILD=@CMAKE_BINARY_DIR@\" -P \"@CMAKE_CURRENT_LIST_DIR@/SaySkipped.cmake\"")
]])

# One test binary. LABEL says what it needs: `unit` needs nothing, `postgres` and `redis` a server from the infra fixture.
# TIMEOUT is a deadline against hanging, in seconds.
function(plimsoll_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LABEL;TIMEOUT" "SOURCES;DEPS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "plimsoll_test(${name}): unknown arguments ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  string(REPLACE "." "_" target "plimsoll_${name}_test")
  add_executable(${target} ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE plimsoll_options ${arg_DEPS} GTest::gmock GTest::gtest_main)
  plimsoll_precompile_gtest(${target})
  add_test(NAME ${arg_LABEL}.${name} COMMAND ${target})
  # `cmake --build --target plimsoll_tests_unit` builds one label's tests.
  if(NOT TARGET plimsoll_tests_${arg_LABEL})
    add_custom_target(plimsoll_tests_${arg_LABEL})
  endif()
  add_dependencies(plimsoll_tests_${arg_LABEL} ${target})
  set_tests_properties(${arg_LABEL}.${name} PROPERTIES LABELS ${arg_LABEL} TIMEOUT ${arg_TIMEOUT})
  if(NOT arg_LABEL STREQUAL "unit")
    plimsoll_needs_infra(${arg_LABEL}.${name})
  endif()
endfunction()

# GoogleTest's headers are two thirds of a small test's cost. Compiled once for all tests, since all have equal flags.
function(plimsoll_precompile_gtest target)
  if(NOT TARGET plimsoll_gtest_headers)
    file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/generated/gtest_headers.cpp" CONTENT "// Only for its precompiled header.\n")
    add_library(plimsoll_gtest_headers OBJECT "${CMAKE_BINARY_DIR}/generated/gtest_headers.cpp")
    target_link_libraries(plimsoll_gtest_headers PRIVATE plimsoll_options GTest::gmock)
    target_precompile_headers(plimsoll_gtest_headers PRIVATE <gmock/gmock.h> <gtest/gtest.h>)
  endif()
  target_precompile_headers(${target} REUSE_FROM plimsoll_gtest_headers)
endfunction()

# The test finds the one infrastructure that ctest's fixture started (fixtures/CMakeLists.txt).
function(plimsoll_needs_infra test)
  set_property(TEST ${test} APPEND PROPERTY FIXTURES_REQUIRED infra)
  set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT "PLIMSOLL_INFRA_STATE=${PLIMSOLL_INFRA_STATE}")
endfunction()
set(PLIMSOLL_INFRA_STATE "${CMAKE_BINARY_DIR}/infra/state.json")

# Where ci/setup unpacked SciPy (docs/adr/0006): the PYTHONPATH of the tests that need it.
if(DEFINED ENV{XDG_CACHE_HOME})
  set(PLIMSOLL_SCIPY "$ENV{XDG_CACHE_HOME}/plimsoll/packages/python3-scipy/usr/lib/python3/dist-packages")
else()
  set(PLIMSOLL_SCIPY "$ENV{HOME}/.cache/plimsoll/packages/python3-scipy/usr/lib/python3/dist-packages")
endif()

# plimsoll_group(<name> SOURCES ... [TESTS ...] [PGTESTS ...] [REDISTESTS ...] [DEPS ...])
# One library of lib/: plimsoll_<name>, alias plimsoll::<name>; one test binary labelled `unit`, and one for each server
# that tests need, labelled by it, which may use fixtures.
function(plimsoll_group name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;TESTS;PGTESTS;REDISTESTS;DEPS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "plimsoll_group(${name}): unknown arguments ${arg_UNPARSED_ARGUMENTS}")
  endif()
  add_library(plimsoll_${name} STATIC ${arg_SOURCES})
  add_library(plimsoll::${name} ALIAS plimsoll_${name})
  target_link_libraries(plimsoll_${name} PRIVATE plimsoll_options PUBLIC ${arg_DEPS})
  if(arg_TESTS AND BUILD_TESTING)
    plimsoll_test(${name} LABEL unit SOURCES ${arg_TESTS} DEPS plimsoll::${name})
  endif()
  if(arg_PGTESTS AND BUILD_TESTING)
    plimsoll_test(${name}_pg LABEL postgres TIMEOUT 300 SOURCES ${arg_PGTESTS}
                  DEPS plimsoll::${name} plimsoll::fixtures)
  endif()
  if(arg_REDISTESTS AND BUILD_TESTING)
    plimsoll_test(${name}_redis LABEL redis TIMEOUT 300 SOURCES ${arg_REDISTESTS}
                  DEPS plimsoll::${name} plimsoll::fixtures)
  endif()
endfunction()

# plimsoll_bench(<group> SOURCES ... [DEPS ...] [INFRA postgres redis])
# bench_<group>; ctest runs it at smoke size with the tests (what crashes or computes wrongly fails), and measures
# it under the label `bench` behind PLIMSOLL_BENCH=1.
function(plimsoll_bench group)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPS;INFRA")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "plimsoll_bench(${group}): unknown arguments ${arg_UNPARSED_ARGUMENTS}")
  endif()
  add_executable(bench_${group} ${arg_SOURCES})
  target_link_libraries(bench_${group} PRIVATE plimsoll_options plimsoll::bench_main ${arg_DEPS})
  install(TARGETS bench_${group} RUNTIME)

  add_test(NAME smoke.${group} COMMAND bench_${group} --plimsoll_size=smoke)
  set_tests_properties(smoke.${group} PROPERTIES LABELS "smoke;${group}" TIMEOUT 120)
  add_test(NAME bench.${group} COMMAND bench_${group}
           --benchmark_out=${CMAKE_BINARY_DIR}/results/${group}.json --benchmark_out_format=json)
  set_tests_properties(bench.${group} PROPERTIES LABELS "bench;${group}" TIMEOUT 600 RUN_SERIAL ON
                       SKIP_RETURN_CODE 77 ENVIRONMENT PLIMSOLL_GATED=1)
  if(arg_INFRA)
    plimsoll_needs_infra(smoke.${group})
    plimsoll_needs_infra(bench.${group})
  endif()
endfunction()
