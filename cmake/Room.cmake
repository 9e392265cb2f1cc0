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

# ROUTELENS_TEST_FLAVOUR is set by the sanitizer presets (asan, tsan, fuzz). It ends the name of each test ("x.asan")
# and is a label, so that one ctest run over several build folders keeps them apart. Such builds run
# only what is pure: the labels that need a kernel, root or real programs belong to the dev build.
set(ROUTELENS_TEST_FLAVOUR "" CACHE STRING "Sanitizer that this build's tests run under")
set(pure_labels unit fuzz-smoke check)

function(register_test name timeout labels)
  set(full_name "${name}")
  if(ROUTELENS_TEST_FLAVOUR)
    string(APPEND full_name ".${ROUTELENS_TEST_FLAVOUR}")
    list(APPEND labels "${ROUTELENS_TEST_FLAVOUR}")
  endif()
  add_test(NAME "${full_name}" COMMAND ${ARGN})
  set_tests_properties("${full_name}" PROPERTIES LABELS "${labels}" TIMEOUT ${timeout})
  foreach(label ${labels})
    if(label MATCHES "^(needs-bpf|needs-root|live)$")
      # Alone on the machine: these watch real traffic and real time.
      set_tests_properties("${full_name}" PROPERTIES RUN_SERIAL TRUE)
    endif()
  endforeach()
endfunction()

# room_test(<name> SOURCES file... DEPS target... [LABELS label...] [TIMEOUT seconds])
#
# A GoogleTest program and one ctest entry for it, shuffled so that order cannot matter.
# Labels: unit (the default), needs-bpf, needs-root, live, slow (only with tools/test --full).
function(room_test name)
  cmake_parse_arguments(TEST "" "TIMEOUT" "SOURCES;DEPS;LABELS" ${ARGN})
  if(NOT TEST_LABELS)
    set(TEST_LABELS unit)
  endif()
  if(NOT TEST_TIMEOUT)
    set(TEST_TIMEOUT 60)
  endif()
  if(NOT ROUTELENS_BUILD_TESTS OR ROUTELENS_TEST_FLAVOUR STREQUAL "fuzz")
    return()
  endif()
  if(ROUTELENS_TEST_FLAVOUR)
    foreach(label ${TEST_LABELS})
      if(NOT label IN_LIST pure_labels)
        return()
      endif()
    endforeach()
    math(EXPR TEST_TIMEOUT "${TEST_TIMEOUT} * 5")
  endif()
  add_executable(${name} ${TEST_SOURCES})
  target_link_libraries(${name} PRIVATE ${TEST_DEPS} routelens_warnings GTest::gmock
                                        GTest::gtest_main)
  register_test(${name} ${TEST_TIMEOUT} "${TEST_LABELS}" ${name} --gtest_shuffle --gtest_brief=1)
endfunction()

# plain_test(<name> COMMAND program argument... [EXPECT_FAILURE] [LABELS label...]
#            [TIMEOUT seconds])
#
# Any other program as a test. With EXPECT_FAILURE it must end with a failure of its own: a program
# that is missing or cannot be run is not what was expected.
function(plain_test name)
  cmake_parse_arguments(TEST "EXPECT_FAILURE" "TIMEOUT" "COMMAND;LABELS" ${ARGN})
  if(NOT TEST_LABELS)
    set(TEST_LABELS unit)
  endif()
  if(NOT TEST_TIMEOUT)
    set(TEST_TIMEOUT 60)
  endif()
  list(POP_FRONT TEST_COMMAND program)
  if(TARGET ${program})
    set(program "$<TARGET_FILE:${program}>")
  endif()
  if(TEST_EXPECT_FAILURE)
    register_test(${name} ${TEST_TIMEOUT} "${TEST_LABELS}"
                  "${PROJECT_SOURCE_DIR}/cmake/expect-failure.sh" "${program}" ${TEST_COMMAND})
  else()
    register_test(${name} ${TEST_TIMEOUT} "${TEST_LABELS}" "${program}" ${TEST_COMMAND})
  endif()
endfunction()

# room_fuzz(<name> SOURCE file CORPUS dir DEPS target...)
#
# With ROUTELENS_FUZZ (presets asan and fuzz) a libFuzzer program, part of the target fuzz_targets;
# its test runs it over its corpus and then for a short while. Else a plain main replays the corpus.
function(room_fuzz name)
  cmake_parse_arguments(FUZZ "" "SOURCE;CORPUS" "DEPS" ${ARGN})
  if(NOT ROUTELENS_BUILD_TESTS)
    return()
  endif()
  set(corpus "${CMAKE_CURRENT_SOURCE_DIR}/${FUZZ_CORPUS}")
  if(ROUTELENS_FUZZ)
    add_executable(${name} ${FUZZ_SOURCE})
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    if(NOT TARGET fuzz_targets)
      add_custom_target(fuzz_targets)
    endif()
    add_dependencies(fuzz_targets ${name})
    register_test(${name} 180 fuzz-smoke "${PROJECT_SOURCE_DIR}/tools/fuzz-smoke"
                  $<TARGET_FILE:${name}> "${corpus}")
  else()
    add_executable(${name} ${FUZZ_SOURCE} "${PROJECT_SOURCE_DIR}/tests/support/replay_corpus.cc")
    register_test(${name} 120 fuzz-smoke $<TARGET_FILE:${name}> "${corpus}")
  endif()
  target_link_libraries(${name} PRIVATE ${FUZZ_DEPS} routelens_warnings)
endfunction()
