# drover_find_grpc()
#
# Sets DROVER_GRPC_LIBS to what links stock gRPC C++ and protobuf; empty where it is not installed.
function(drover_find_grpc)
  if(DEFINED DROVER_GRPC_LIBS)
    return()
  endif()
  # One call, kept: pkg_check_modules() makes many, and each takes most of a second over gRPC's long list.
  execute_process(COMMAND pkg-config --libs grpc++ protobuf OUTPUT_VARIABLE libs RESULT_VARIABLE code ERROR_QUIET
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(code EQUAL 0)
    separate_arguments(libs)
    list(FILTER libs INCLUDE REGEX "^-l")
    list(REMOVE_DUPLICATES libs)
  else()
    set(libs)
  endif()
  set(DROVER_GRPC_LIBS ${libs} CACHE INTERNAL "What links stock gRPC C++")
endfunction()

# grpc_peer_library(NAME PROTO file.proto)
#
# The classes that protoc and gRPC C++'s own plugin make of a .proto file, as the static library NAME: for the peers,
# for stock clients, and for sources that are built a second time against the original. Their include directory is
# their own, since Drover's generated headers have the same names; never link both into one program.
function(grpc_peer_library NAME)
  cmake_parse_arguments(ARG "" "PROTO" "" ${ARGN})
  find_program(DROVER_PROTOC protoc REQUIRED)
  find_program(GRPC_CPP_PLUGIN grpc_cpp_plugin REQUIRED)
  drover_find_grpc()
  if(NOT DROVER_GRPC_LIBS)
    message(FATAL_ERROR "${NAME} needs gRPC C++ (Debian: libgrpc++-dev)")
  endif()
  get_filename_component(proto ${ARG_PROTO} ABSOLUTE)
  get_filename_component(dir ${proto} DIRECTORY)
  get_filename_component(stem ${proto} NAME_WLE)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/${NAME}.gen)
  file(MAKE_DIRECTORY ${out})
  set(files ${out}/${stem}.pb.h ${out}/${stem}.pb.cc ${out}/${stem}.grpc.pb.h ${out}/${stem}.grpc.pb.cc)
  add_custom_command(
    OUTPUT ${files}
    COMMAND ${DROVER_PROTOC} -I${dir} --cpp_out=${out} --grpc_out=${out}
            --plugin=protoc-gen-grpc=${GRPC_CPP_PLUGIN} ${stem}.proto
    DEPENDS ${proto}
    COMMENT "protoc ${stem}.proto for gRPC C++" VERBATIM)
  add_library(${NAME} STATIC ${files})
  target_include_directories(${NAME} SYSTEM PUBLIC ${out})
  target_link_libraries(${NAME} PUBLIC ${DROVER_GRPC_LIBS} Threads::Threads)
endfunction()
