# SPDX-License-Identifier: Apache-2.0
#
# room(<name> [SOURCES file...] [HEADERS file...] [DEPS target...] [PRIVATE_DEPS target...])
#
# One room of the tree as one library, routelens::<name>, with slashes as underscores. The root of
# the tree is the only include path. DEPS is for what headers expose.
function(room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;HEADERS;DEPS;PRIVATE_DEPS" ${ARGN})
  string(REPLACE "/" "_" target "${name}")
  set(target "rl_${target}")
  if(ROOM_SOURCES)
    add_library(${target} STATIC ${ROOM_SOURCES})
    set(scope PUBLIC)
    target_link_libraries(${target} PRIVATE routelens_warnings ${ROOM_PRIVATE_DEPS})
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(${target} ${scope} "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${target} ${scope} ${ROOM_DEPS})
  if(ROOM_HEADERS)
    target_sources(${target} ${scope} FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}"
                                              FILES ${ROOM_HEADERS})
    set_target_properties(${target} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
  endif()
  string(REPLACE "/" "::" alias "${name}")
  add_library(routelens::${alias} ALIAS ${target})
endfunction()

# room_test(<name> SOURCES file... DEPS target... [LABELS label...] [TIMEOUT seconds])
#
# A GoogleTest program, one ctest entry for each case, shuffled so that order cannot matter.
function(room_test name)
  cmake_parse_arguments(TEST "" "TIMEOUT" "SOURCES;DEPS;LABELS" ${ARGN})
  if(NOT ROUTELENS_BUILD_TESTS)
    return()
  endif()
  add_executable(${name} ${TEST_SOURCES})
  target_link_libraries(${name} PRIVATE ${TEST_DEPS} routelens_warnings GTest::gmock
                                        GTest::gtest_main)
  if(NOT TEST_LABELS)
    set(TEST_LABELS unit)
  endif()
  if(NOT TEST_TIMEOUT)
    set(TEST_TIMEOUT 60)
  endif()
  add_test(NAME ${name} COMMAND ${name} --gtest_shuffle --gtest_brief=1)
  set_tests_properties(${name} PROPERTIES LABELS "${TEST_LABELS}" TIMEOUT ${TEST_TIMEOUT})
endfunction()

# room_fuzz(<name> SOURCE file CORPUS dir DEPS target...)
#
# With the fuzz preset a libFuzzer program; `ctest -L fuzz-smoke` runs it over its corpus and then
# for a short while. With the other presets the corpus is replayed by a plain main.
function(room_fuzz name)
  cmake_parse_arguments(FUZZ "" "SOURCE;CORPUS" "DEPS" ${ARGN})
  if(NOT ROUTELENS_BUILD_TESTS)
    return()
  endif()
  set(corpus "${CMAKE_CURRENT_SOURCE_DIR}/${FUZZ_CORPUS}")
  if(ROUTELENS_FUZZ)
    add_executable(${name} ${FUZZ_SOURCE})
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    add_test(NAME ${name} COMMAND "${PROJECT_SOURCE_DIR}/tools/fuzz-smoke" $<TARGET_FILE:${name}>
                                  "${corpus}")
  else()
    add_executable(${name} ${FUZZ_SOURCE} "${PROJECT_SOURCE_DIR}/tests/support/replay_corpus.cc")
    add_test(NAME ${name} COMMAND ${name} "${corpus}")
  endif()
  target_link_libraries(${name} PRIVATE ${FUZZ_DEPS} routelens_warnings)
  set_tests_properties(${name} PROPERTIES LABELS fuzz-smoke TIMEOUT 120)
endfunction()
