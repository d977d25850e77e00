# RTL under Verilator.
#
#   drover_verilate(NAME [TOP module] [PARAMETERS P=1 ...] SOURCES a.sv ...)
#                                            the static library drover_rtl_NAME with the class V<NAME>, of the module TOP
#                                            (NAME) with those parameters; adds the test NAME_lint (verilator
#                                            --lint-only -Wall)
#   drover_rtl_lint(NAME TOP module [PARAMETERS P=1 ...] SOURCES a.sv ... LABELS ...)
#                                            that test alone
#
# Sources stand in the order of their imports, packages first; paths from the current directory. DROVER_VERILATOR
# says whether Verilator is there.
find_program(DROVER_VERILATOR_COMMAND verilator)
if(DROVER_VERILATOR_COMMAND)
  set(DROVER_VERILATOR TRUE)
  execute_process(COMMAND ${DROVER_VERILATOR_COMMAND} --getenv VERILATOR_ROOT OUTPUT_VARIABLE DROVER_VERILATOR_ROOT
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
else()
  set(DROVER_VERILATOR FALSE)
endif()

# What registers hold at power-up is for the program to choose (rtl/model/simulation.h).
set(DROVER_VERILATOR_FLAGS --sv -O3 --x-assign fast --x-initial unique --assert
    -I${PROJECT_SOURCE_DIR}/rtl/common -Wall -Wno-DECLFILENAME -Wno-SYNCASYNCNET)

# Verilator's own run time, once.
function(drover_verilated_runtime)
  if(TARGET drover_verilated)
    return()
  endif()
  set(include ${DROVER_VERILATOR_ROOT}/include)
  add_library(drover_verilated STATIC ${include}/verilated.cpp ${include}/verilated_threads.cpp)
  target_include_directories(drover_verilated SYSTEM PUBLIC ${include} ${include}/vltstd)
  target_compile_options(drover_verilated PRIVATE -w)
  target_link_libraries(drover_verilated PUBLIC Threads::Threads)
  # Sanitizers watch the test benches, not the model; link against the runtime all the same.
endfunction()

# The sources that a list names, one a line, in the order of imports, with their full paths, into VARIABLE.
# tools/synth_rtl.py reads the same lists.
function(drover_rtl_sources LIST VARIABLE)
  get_filename_component(LIST ${LIST} ABSOLUTE BASE_DIR ${CMAKE_CURRENT_SOURCE_DIR})
  get_filename_component(dir ${LIST} DIRECTORY)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${LIST})
  file(STRINGS ${LIST} names REGEX "^[^/]")
  list(TRANSFORM names PREPEND ${dir}/)
  set(${VARIABLE} ${names} PARENT_SCOPE)
endfunction()

function(drover_verilate NAME)
  cmake_parse_arguments(ARG "" "TOP" "SOURCES;DEPENDS;PARAMETERS" ${ARGN})
  drover_verilated_runtime()
  if(NOT ARG_TOP)
    set(ARG_TOP ${NAME})
  endif()
  list(TRANSFORM ARG_PARAMETERS PREPEND -G OUTPUT_VARIABLE parameters)
  set(dir ${CMAKE_CURRENT_BINARY_DIR}/verilated/${NAME})
  set(sources)
  foreach(source IN LISTS ARG_SOURCES)
    get_filename_component(source ${source} ABSOLUTE BASE_DIR ${CMAKE_CURRENT_SOURCE_DIR})
    list(APPEND sources ${source})
  endforeach()
  set(archive ${dir}/V${NAME}__ALL.a)
  add_custom_command(
    OUTPUT ${archive}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${dir}
    COMMAND ${DROVER_VERILATOR_COMMAND} --cc ${DROVER_VERILATOR_FLAGS} --top-module ${ARG_TOP} --prefix V${NAME} ${parameters}
            --Mdir ${dir} --build -j 2 -CFLAGS "-O2 -std=c++20 -w -fPIC"
            -MAKEFLAGS "CXX='${CMAKE_CXX_COMPILER_LAUNCHER} ${CMAKE_CXX_COMPILER}' OPT_FAST=-O2 OPT_SLOW=-O0 OPT_GLOBAL=-O1"
            ${sources}
    DEPENDS ${sources} ${PROJECT_SOURCE_DIR}/rtl/common/drover_assert.svh ${ARG_DEPENDS} COMMENT "Verilating ${NAME}" VERBATIM)
  add_custom_target(drover_rtl_${NAME}_model DEPENDS ${archive})
  add_library(drover_rtl_${NAME} INTERFACE)
  add_dependencies(drover_rtl_${NAME} drover_rtl_${NAME}_model)
  target_include_directories(drover_rtl_${NAME} SYSTEM INTERFACE ${dir})
  target_link_libraries(drover_rtl_${NAME} INTERFACE ${archive} drover_verilated)
  drover_rtl_lint(${NAME} TOP ${ARG_TOP} PARAMETERS ${ARG_PARAMETERS} SOURCES ${ARG_SOURCES} LABELS rtl)
endfunction()

# Only the test NAME_lint, with those labels.
function(drover_rtl_lint NAME)
  cmake_parse_arguments(ARG "" "TOP" "SOURCES;PARAMETERS;LABELS" ${ARGN})
  if(NOT DROVER_BUILD_TESTS)
    return()
  endif()
  list(TRANSFORM ARG_PARAMETERS PREPEND -G)
  set(sources)
  foreach(source IN LISTS ARG_SOURCES)
    get_filename_component(source ${source} ABSOLUTE BASE_DIR ${CMAKE_CURRENT_SOURCE_DIR})
    list(APPEND sources ${source})
  endforeach()
  add_test(NAME ${NAME}_lint
           COMMAND ${DROVER_VERILATOR_COMMAND} --lint-only --sv -I${PROJECT_SOURCE_DIR}/rtl/common -Wall -Wno-DECLFILENAME -Wno-SYNCASYNCNET --assert --top-module ${ARG_TOP}
                   ${ARG_PARAMETERS} ${sources})
  set_tests_properties(${NAME}_lint PROPERTIES LABELS "${ARG_LABELS}")
endfunction()
