# How every target of Drover is built: language, warnings, sanitizers, link-time optimisation, and the kinds of target
# that the folders use.
#
#   drover_library(NAME SOURCES ... [DEPENDS ...])   static library drover_NAME, alias drover::NAME
#   drover_optimize(TARGET ...)                      programs that are deployed or measured: ThinLTO with DROVER_LTO
#   drover_test(NAME SOURCES ... [DEPENDS ...] [LABELS ...])   GoogleTest program and ctest entry
#   drover_long_test(NAME PROGRAM VARIABLE=VALUE ...)   a drover_test() once more, with these variables: for
#                                                    `make test-long` only
#   drover_fuzzer(NAME SOURCES ... [DEPENDS ...])    libFuzzer program (with DROVER_BUILD_FUZZERS); without, where
#                                                    tests/corpus/NAME is, the test NAME_replay over that corpus
#
# Three interface targets carry the flags. Only drover_headers reaches the targets of a project that uses Drover.
#   drover_headers   what compiling against Drover's headers needs
#   drover_options   Drover's own targets: warnings, frame pointers
#   drover_product   libraries and programs that are deployed or measured: drover_options, and objects for ThinLTO

find_package(Threads REQUIRED)

# The headers read and write objects as raw memory of several types, so code that inlines them must be compiled with
# -fno-strict-aliasing, too. It never changes what correct code means.
add_library(drover_headers INTERFACE)
target_compile_features(drover_headers INTERFACE cxx_std_20)
target_compile_options(drover_headers INTERFACE -fno-strict-aliasing)
target_include_directories(drover_headers INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                                                    $<BUILD_INTERFACE:${DROVER_FORMATS_DIR}>
                                                    $<INSTALL_INTERFACE:include/drover>)
add_dependencies(drover_headers drover_formats)
if(DROVER_SANITIZE)
  target_compile_options(drover_headers INTERFACE -fsanitize=${DROVER_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(drover_headers INTERFACE -fsanitize=${DROVER_SANITIZE})
endif()
if(DROVER_BUILD_FUZZERS)
  target_compile_options(drover_headers INTERFACE -fsanitize=fuzzer-no-link)
endif()

add_library(drover_frame_pointers INTERFACE)
target_compile_options(drover_frame_pointers INTERFACE -fno-omit-frame-pointer)
add_library(drover_options INTERFACE)
target_link_libraries(drover_options INTERFACE drover_headers drover_frame_pointers)
if(PROJECT_IS_TOP_LEVEL)
  target_compile_options(drover_options INTERFACE -Wall -Wextra -Wshadow -Wno-invalid-offsetof)
else()
  target_compile_options(drover_options INTERFACE -w)  # the flags of the project around are not for Drover's sources
endif()

# Each object holds machine code and bitcode: tests link the first in no time, drover_optimize() has the second inlined
# across libraries.
add_library(drover_product INTERFACE)
target_link_libraries(drover_product INTERFACE drover_options)
if((DROVER_LTO OR DROVER_PRECOMPILE) AND NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  message(FATAL_ERROR "DROVER_LTO and DROVER_PRECOMPILE are for clang")
endif()
if(DROVER_LTO)
  set(drover_lto_flags -flto=thin -ffat-lto-objects)
  target_compile_options(drover_product INTERFACE $<$<COMPILE_LANGUAGE:C,CXX>:${drover_lto_flags}>)
endif()

# Test programs want to be built soon, not to run fast; what they test is compiled as it is deployed.
add_library(drover_test_options INTERFACE)
target_link_libraries(drover_test_options INTERFACE drover_options)
if(DROVER_SANITIZE)
  target_compile_options(drover_test_options INTERFACE -O0)
elseif(DROVER_LTO)
  target_compile_options(drover_test_options INTERFACE -O1)
endif()

function(drover_library NAME)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(drover_${NAME} STATIC ${ARG_SOURCES})
  add_library(drover::${NAME} ALIAS drover_${NAME})
  set_target_properties(drover_${NAME} PROPERTIES EXPORT_NAME ${NAME} POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(drover_${NAME} PRIVATE $<BUILD_INTERFACE:drover_product> PUBLIC drover_headers ${ARG_DEPENDS})
endfunction()

function(drover_optimize)
  foreach(target IN LISTS ARGN)
    target_link_libraries(${target} PRIVATE drover_product)
    if(DROVER_LTO)
      target_link_options(${target} PRIVATE ${drover_lto_flags}
                                            -Wl,--thinlto-cache-dir=${Drover_BINARY_DIR}/thinlto)
    endif()
  endforeach()
endfunction()

# What test sources include before all else, parsed once.
if(DROVER_BUILD_TESTS)
  find_package(GTest REQUIRED)
endif()
if(DROVER_BUILD_TESTS AND DROVER_PRECOMPILE)
  file(CONFIGURE OUTPUT test_headers.cc CONTENT "")
  add_library(drover_test_headers OBJECT ${PROJECT_BINARY_DIR}/test_headers.cc)
  target_link_libraries(drover_test_headers PRIVATE drover_test_options GTest::gmock)
  target_precompile_headers(drover_test_headers PRIVATE
    <gmock/gmock.h> <gtest/gtest.h> <algorithm> <array> <functional> <map> <memory> <optional> <random> <string>
    <string_view> <thread> <vector>)
  # Compiled as the programs are that use it; without a time stamp, so that ccache can keep what they compile.
  target_compile_options(drover_test_headers PRIVATE -fPIE -Xclang -fno-pch-timestamp)
  set_target_properties(drover_test_headers PROPERTIES POSITION_INDEPENDENT_CODE OFF PCH_INSTANTIATE_TEMPLATES ON)
endif()

function(drover_test NAME)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;LABELS" ${ARGN})
  if(NOT DROVER_BUILD_TESTS)
    return()
  endif()
  add_executable(${NAME} ${ARG_SOURCES})
  target_link_libraries(${NAME} PRIVATE drover_test_options ${ARG_DEPENDS} GTest::gmock GTest::gtest_main)
  if(TARGET drover_test_headers)
    target_precompile_headers(${NAME} REUSE_FROM drover_test_headers)
    set(sources_in_c ${ARG_SOURCES})
    list(FILTER sources_in_c INCLUDE REGEX "\\.c$")
    set_source_files_properties(${sources_in_c} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
  endif()
  add_test(NAME ${NAME} COMMAND ${NAME})
  set_tests_properties(${NAME} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT 300)
endfunction()

function(drover_long_test NAME PROGRAM)
  if(TARGET ${PROGRAM})
    add_test(NAME ${NAME} COMMAND ${PROGRAM})
    set_tests_properties(${NAME} PROPERTIES LABELS long ENVIRONMENT "${ARGN}" TIMEOUT 3600)
  endif()
endfunction()

function(drover_fuzzer NAME)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  if(DROVER_BUILD_FUZZERS)
    add_executable(${NAME} ${ARG_SOURCES})
    target_link_libraries(${NAME} PRIVATE drover_options ${ARG_DEPENDS})
    target_link_options(${NAME} PRIVATE -fsanitize=fuzzer)
  elseif(DROVER_BUILD_TESTS AND EXISTS ${PROJECT_SOURCE_DIR}/tests/corpus/${NAME})
    if(NOT TARGET drover_corpus_replay)
      add_library(drover_corpus_replay OBJECT ${PROJECT_SOURCE_DIR}/tests/corpus_replay.cc)
      target_link_libraries(drover_corpus_replay PRIVATE drover_test_options)
    endif()
    add_executable(${NAME}_replay ${ARG_SOURCES} $<TARGET_OBJECTS:drover_corpus_replay>)
    target_link_libraries(${NAME}_replay PRIVATE drover_test_options ${ARG_DEPENDS})
    add_test(NAME ${NAME}_replay COMMAND ${NAME}_replay ${PROJECT_SOURCE_DIR}/tests/corpus/${NAME})
    set_tests_properties(${NAME}_replay PROPERTIES LABELS replay TIMEOUT 300)
  endif()
endfunction()
