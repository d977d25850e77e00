# drover_generate(TARGET name PROTOS a.proto ... [IMPORT_DIRS dir ...] [OPTIONS opt ...] [DEPENDS lib ...]
#                 [MESSAGES_ONLY] [BESIDE_PROTOBUF])
#
# Makes the static library `name` of Drover's classes and services for the .proto files: foo.pb.{h,cc} and
# foo.grpc.pb.{h,cc}, found by the same #include lines as protoc's own output. Paths are relative to the
# current source directory, or to the first of IMPORT_DIRS that holds the file. OPTIONS go to --drover_opt:
#   namespace_prefix=X   everything lies in namespace X (so that protobuf C++'s classes can stand beside it)
#   include_prefix=DIR   the files are included as "DIR/foo.pb.h"
#   lines                all services also as RPC lines: foo.lines.pb.h. A .proto can say so itself: it imports
#                        drover/options.proto, which is found without an import directory (docs/lines.md)
# MESSAGES_ONLY leaves the services out, and with them the host library. BESIDE_PROTOBUF is for programs that also use
# protobuf C++'s own headers: Drover's headers of the same names (generated/include) are then not on the include path;
# namespace_prefix implies it. A .proto that imports google/protobuf/...
# gets drover::wkt, the well-known types, unless it has a namespace of its own.
#
# Where a .proto, or one that it imports, says `edition`, all PROTOS go through DROVER_EDITIONS_PROTOC or, in Drover's
# source tree, the protoc of grpcio-tools in .venv (tools/setup.sh): Debian's knows proto2 and proto3 only.
#
# In another project the generated sources are compiled without its warnings, and their headers are system headers.

# Where drover/options.proto is: in the source tree here, of an installed package droverConfig.cmake says so.
if(EXISTS ${CMAKE_CURRENT_LIST_DIR}/../compiler/proto/drover/options.proto)
  get_filename_component(_drover_proto_dir ${CMAKE_CURRENT_LIST_DIR}/../compiler/proto ABSOLUTE)
  set_property(GLOBAL PROPERTY DROVER_PROTO_DIR ${_drover_proto_dir})
endif()

# _drover_find_proto(VARIABLE proto dir...): its path below the first of the directories that holds it; empty if none.
function(_drover_find_proto VARIABLE proto)
  set(found)
  foreach(dir IN LISTS ARGN)
    if(NOT found AND EXISTS ${dir}/${proto})
      set(found ${dir}/${proto})
    endif()
  endforeach()
  set(${VARIABLE} "${found}" PARENT_SCOPE)
endfunction()

# _drover_needs_editions(VARIABLE proto dir...): TRUE if it or what it imports from these directories has an edition.
function(_drover_needs_editions VARIABLE proto)
  set(needed FALSE)
  set(seen)
  set(waiting ${proto})
  while(waiting AND NOT needed)
    list(POP_FRONT waiting next)
    list(APPEND seen ${next})
    _drover_find_proto(path ${next} ${ARGN})
    if(NOT path)
      continue()
    endif()
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})  # what it says decides the build
    file(STRINGS ${path} edition REGEX "^[ \t]*edition[ \t]*=")
    if(edition)
      set(needed TRUE)
    endif()
    file(STRINGS ${path} imports REGEX "^[ \t]*import[ \t][^\"]*\"[^\"]+\"")
    foreach(line IN LISTS imports)
      string(REGEX REPLACE "^[^\"]*\"([^\"]+)\".*" "\\1" import ${line})
      if(NOT import IN_LIST seen)
        list(APPEND waiting ${import})
      endif()
    endforeach()
  endwhile()
  set(${VARIABLE} ${needed} PARENT_SCOPE)
endfunction()

# _drover_protoc(VARIABLE editions): the command of a protoc that understands the files.
function(_drover_protoc VARIABLE editions)
  if(NOT editions)
    find_program(DROVER_PROTOC protoc REQUIRED)
    set(${VARIABLE} ${DROVER_PROTOC} PARENT_SCOPE)
    return()
  endif()
  if(DROVER_EDITIONS_PROTOC)
    set(${VARIABLE} ${DROVER_EDITIONS_PROTOC} PARENT_SCOPE)
    return()
  endif()
  set(python ${Drover_SOURCE_DIR}/.venv/bin/python)
  if(NOT Drover_SOURCE_DIR OR NOT EXISTS ${python})
    message(FATAL_ERROR "a .proto file has an edition, which Debian's protoc does not know: set DROVER_EDITIONS_PROTOC to"
                        " a protoc from release 27 on, or run tools/setup.sh in Drover's source tree for its .venv")
  endif()
  set(${VARIABLE} ${python} -m grpc_tools.protoc PARENT_SCOPE)
endfunction()

function(drover_generate)
  cmake_parse_arguments(ARG "MESSAGES_ONLY;BESIDE_PROTOBUF;FOR_TESTS" "TARGET" "PROTOS;IMPORT_DIRS;OPTIONS;DEPENDS" ${ARGN})
  if(NOT ARG_TARGET OR NOT ARG_PROTOS)
    message(FATAL_ERROR "drover_generate needs TARGET and PROTOS")
  endif()
  if(NOT ARG_IMPORT_DIRS)
    set(ARG_IMPORT_DIRS ${CMAKE_CURRENT_SOURCE_DIR})
  endif()
  set(out ${CMAKE_CURRENT_BINARY_DIR}/${ARG_TARGET}.gen)
  file(MAKE_DIRECTORY ${out})
  set(import_dirs)
  set(import_flags)
  foreach(dir IN LISTS ARG_IMPORT_DIRS)
    get_filename_component(dir ${dir} ABSOLUTE)
    list(APPEND import_dirs ${dir})
    list(APPEND import_flags -I${dir})
  endforeach()
  get_property(options_dir GLOBAL PROPERTY DROVER_PROTO_DIR)
  list(APPEND import_flags -I${options_dir})
  string(REPLACE ";" "," options "${ARG_OPTIONS}")
  set(options_flag)
  if(options)
    set(options_flag --drover_opt=${options})
  endif()
  set(prefix)
  if(options MATCHES "(^|,)include_prefix=([^,]+)")
    string(REGEX REPLACE "/$" "" prefix ${CMAKE_MATCH_2})
    string(APPEND prefix "/")
  endif()
  set(any_edition FALSE)
  foreach(proto IN LISTS ARG_PROTOS)
    _drover_needs_editions(edition ${proto} ${import_dirs})
    if(edition)
      set(any_edition TRUE)
    endif()
  endforeach()
  _drover_protoc(protoc ${any_edition})
  set(generated)
  set(needs_wkt FALSE)
  foreach(proto IN LISTS ARG_PROTOS)
    _drover_find_proto(absolute ${proto} ${import_dirs})
    if(NOT absolute)
      message(FATAL_ERROR "drover_generate: ${proto} is in none of: ${ARG_IMPORT_DIRS}")
    endif()
    file(STRINGS ${absolute} imports REGEX "^[ \t]*import[^\"]*\"google/protobuf/")
    if(imports)
      set(needs_wkt TRUE)
    endif()
    string(REGEX REPLACE "\\.proto$" "" stem ${proto})
    set(messages ${out}/${prefix}${stem}.pb.h ${out}/${prefix}${stem}.pb.cc)
    set(services ${out}/${prefix}${stem}.grpc.pb.cc ${out}/${prefix}${stem}.grpc.pb.h ${out}/${prefix}${stem}.lines.pb.h)
    string(MAKE_C_IDENTIFIER ${stem} depfile)
    add_custom_command(
      OUTPUT ${services} ${messages}  # protoc's dependency file begins with the .grpc.pb.cc, and Ninja wants the same
      COMMAND ${protoc} --plugin=protoc-gen-drover=$<TARGET_FILE:drover::protoc-gen-drover> ${import_flags}
              --drover_out=${out} ${options_flag} --dependency_out=${out}/${depfile}.d ${proto}
      DEPENDS ${absolute} $<TARGET_FILE:drover::protoc-gen-drover>
      DEPFILE ${out}/${depfile}.d
      COMMENT "protoc-gen-drover ${proto}" VERBATIM)
    list(APPEND generated ${messages})
    if(NOT ARG_MESSAGES_ONLY)
      list(APPEND generated ${services})
    endif()
  endforeach()
  add_library(${ARG_TARGET} STATIC ${generated})
  target_include_directories(${ARG_TARGET} PUBLIC $<BUILD_INTERFACE:${out}>)
  if(DROVER_IS_TOP_LEVEL)
    # FOR_TESTS, in Drover's own tree: compiled as test sources are.
    target_link_libraries(${ARG_TARGET} PRIVATE
                          $<BUILD_INTERFACE:$<IF:$<BOOL:${ARG_FOR_TESTS}>,drover_test_options,drover_product>>)
  else()
    # The project's own warnings are for what is written by hand.
    target_compile_options(${ARG_TARGET} PRIVATE -w)
    set_target_properties(${ARG_TARGET} PROPERTIES SYSTEM ON POSITION_INDEPENDENT_CODE ON)
    if(TARGET droverd AND NOT ARG_MESSAGES_ONLY)
      add_dependencies(${ARG_TARGET} droverd)  # what a service starts
    endif()
  endif()
  target_link_libraries(${ARG_TARGET} PUBLIC drover::generated ${ARG_DEPENDS})
  if(NOT ARG_MESSAGES_ONLY)
    target_link_libraries(${ARG_TARGET} PUBLIC drover::host)
  endif()
  if(NOT ARG_BESIDE_PROTOBUF AND NOT options MATCHES "namespace_prefix=")
    target_link_libraries(${ARG_TARGET} PUBLIC drover::protobuf_names)
  endif()
  if(needs_wkt AND TARGET drover::wkt AND NOT ARG_TARGET STREQUAL "drover_wkt" AND NOT options MATCHES "namespace_prefix=")
    target_link_libraries(${ARG_TARGET} PUBLIC drover::wkt)
  endif()
  # <google/protobuf/util/...> is found wherever generated headers are.
  if(TARGET drover::util AND NOT ARG_BESIDE_PROTOBUF AND NOT options MATCHES "namespace_prefix=")
    target_link_libraries(${ARG_TARGET} PUBLIC drover::util)
  endif()
endfunction()
