# The echo servers, built from one pair of sources for each set of messages:
#
#   add_echo_servers(SUFFIX PROTO_DIR)
#
# makes from PROTO_DIR/echo.proto the peers grpc_async_server<SUFFIX> and grpc_callback_server<SUFFIX> on gRPC C++, and
# echo_server<SUFFIX> on Drover unless a target of that name exists already. protoc's classes for gRPC live in an
# include directory of their own, echo_grpc<SUFFIX>, since Drover's have the same header names.
find_package(CLI11 REQUIRED)
find_package(PkgConfig REQUIRED)
find_program(PROTOC protoc REQUIRED)
find_program(GRPC_CPP_PLUGIN grpc_cpp_plugin REQUIRED)
pkg_check_modules(GRPCPP REQUIRED IMPORTED_TARGET grpc++)
pkg_check_modules(PROTOBUF REQUIRED IMPORTED_TARGET protobuf)

function(add_grpc_echo_classes NAME PROTO_DIR)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/${NAME}.gen)
  file(MAKE_DIRECTORY ${out})
  set(files ${out}/echo.pb.h ${out}/echo.pb.cc ${out}/echo.grpc.pb.h ${out}/echo.grpc.pb.cc)
  add_custom_command(
    OUTPUT ${files}
    COMMAND ${PROTOC} -I${PROTO_DIR} --cpp_out=${out} --grpc_out=${out}
            --plugin=protoc-gen-grpc=${GRPC_CPP_PLUGIN} echo.proto
    DEPENDS ${PROTO_DIR}/echo.proto
    COMMENT "protoc ${NAME}" VERBATIM)
  add_library(${NAME} STATIC ${files})
  target_include_directories(${NAME} SYSTEM PUBLIC ${out})
  target_compile_options(${NAME} PRIVATE -O3)
  target_link_libraries(${NAME} PUBLIC PkgConfig::GRPCPP PkgConfig::PROTOBUF)
endfunction()

function(add_echo_servers SUFFIX PROTO_DIR)
  set(callback_source ${PROJECT_SOURCE_DIR}/examples/echo/echo_server.cc)
  add_grpc_echo_classes(echo_grpc${SUFFIX} ${PROTO_DIR})
  add_executable(grpc_async_server${SUFFIX} ${PROJECT_SOURCE_DIR}/bench/peers/grpc_async_server.cc)
  add_executable(grpc_callback_server${SUFFIX} ${callback_source})
  foreach(server IN ITEMS grpc_async_server grpc_callback_server)
    target_compile_options(${server}${SUFFIX} PRIVATE -O3)
    target_link_libraries(${server}${SUFFIX} PRIVATE drover_options echo_grpc${SUFFIX} CLI11::CLI11)
  endforeach()
  if(TARGET drover_host AND NOT TARGET echo_server${SUFFIX})
    drover_generate(TARGET echo_proto${SUFFIX} PROTOS echo.proto IMPORT_DIRS ${PROTO_DIR})
    add_executable(echo_server${SUFFIX} ${callback_source})
    target_compile_options(echo_server${SUFFIX} PRIVATE -O3)
    target_link_libraries(echo_server${SUFFIX} PRIVATE drover_options echo_proto${SUFFIX})
  endif()
endfunction()
