# How every target of Drover is built: warnings, sanitizers, and the three kinds of target that the folders use.
#
#   drover_library(NAME SOURCES ... [DEPENDS ...])   static library drover_NAME, alias drover::NAME
#   drover_test(NAME SOURCES ... [DEPENDS ...] [LABELS ...])   GoogleTest program, one ctest entry a test case
#   drover_fuzzer(NAME SOURCES ... [DEPENDS ...])    libFuzzer program (with DROVER_BUILD_FUZZERS); without, where
#                                                    tests/corpus/NAME is, the test NAME_replay over that corpus

find_package(Threads REQUIRED)

add_library(drover_options INTERFACE)
target_compile_options(drover_options INTERFACE -Wall -Wextra -Wshadow -Wno-invalid-offsetof -fno-strict-aliasing
                                                -fno-omit-frame-pointer)
target_include_directories(drover_options INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                                                    $<BUILD_INTERFACE:${DROVER_FORMATS_DIR}>)
add_dependencies(drover_options drover_formats)
if(DROVER_SANITIZE)
  target_compile_options(drover_options INTERFACE -fsanitize=${DROVER_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(drover_options INTERFACE -fsanitize=${DROVER_SANITIZE})
endif()
if(DROVER_BUILD_FUZZERS)
  target_compile_options(drover_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

function(drover_library NAME)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(drover_${NAME} STATIC ${ARG_SOURCES})
  add_library(drover::${NAME} ALIAS drover_${NAME})
  target_link_libraries(drover_${NAME} PUBLIC drover_options ${ARG_DEPENDS})
endfunction()

function(drover_test NAME)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;LABELS" ${ARGN})
  if(NOT DROVER_BUILD_TESTS)
    return()
  endif()
  find_package(GTest REQUIRED)
  add_executable(${NAME} ${ARG_SOURCES})
  target_link_libraries(${NAME} PRIVATE drover_options ${ARG_DEPENDS} GTest::gmock GTest::gtest_main)
  add_test(NAME ${NAME} COMMAND ${NAME})
  set_tests_properties(${NAME} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT 300)
endfunction()

function(drover_fuzzer NAME)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  if(DROVER_BUILD_FUZZERS)
    add_executable(${NAME} ${ARG_SOURCES})
    target_link_libraries(${NAME} PRIVATE drover_options ${ARG_DEPENDS})
    target_link_options(${NAME} PRIVATE -fsanitize=fuzzer)
  elseif(DROVER_BUILD_TESTS AND EXISTS ${PROJECT_SOURCE_DIR}/tests/corpus/${NAME})
    add_executable(${NAME}_replay ${ARG_SOURCES} ${PROJECT_SOURCE_DIR}/tests/corpus_replay.cc)
    target_link_libraries(${NAME}_replay PRIVATE drover_options ${ARG_DEPENDS})
    add_test(NAME ${NAME}_replay COMMAND ${NAME}_replay ${PROJECT_SOURCE_DIR}/tests/corpus/${NAME})
    set_tests_properties(${NAME}_replay PROPERTIES LABELS replay TIMEOUT 300)
  endif()
endfunction()
