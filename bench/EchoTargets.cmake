# The echo servers, built from one pair of sources for each set of messages:
#
#   add_echo_servers(SUFFIX PROTO_DIR)
#
# makes from PROTO_DIR/echo.proto the peers grpc_async_server<SUFFIX> and grpc_callback_server<SUFFIX> on gRPC C++, and
# echo_server<SUFFIX> on Drover unless a target of that name exists already, and echo_queue_server<SUFFIX>, which is
# grpc_async_server's source on Drover. protoc's classes for gRPC live in an
# include directory of their own, echo_grpc<SUFFIX>, since Drover's have the same header names.
find_package(CLI11 REQUIRED)
function(add_echo_servers SUFFIX PROTO_DIR)
  set(callback_source ${PROJECT_SOURCE_DIR}/examples/echo/echo_server.cc)
  grpc_peer_library(echo_grpc${SUFFIX} PROTO ${PROTO_DIR}/echo.proto)
  target_compile_options(echo_grpc${SUFFIX} PRIVATE -O3)
  add_executable(grpc_async_server${SUFFIX} ${PROJECT_SOURCE_DIR}/bench/peers/grpc_async_server.cc)
  add_executable(grpc_callback_server${SUFFIX} ${callback_source})
  foreach(server IN ITEMS grpc_async_server grpc_callback_server)
    target_compile_options(${server}${SUFFIX} PRIVATE -O3)
    target_link_libraries(${server}${SUFFIX} PRIVATE echo_grpc${SUFFIX} CLI11::CLI11)
    drover_optimize(${server}${SUFFIX})
  endforeach()
  if(TARGET drover_host AND NOT TARGET echo_server${SUFFIX})
    drover_generate(TARGET echo_proto${SUFFIX} PROTOS echo.proto IMPORT_DIRS ${PROTO_DIR})
    add_executable(echo_server${SUFFIX} ${callback_source})
    target_compile_options(echo_server${SUFFIX} PRIVATE -O3)
    target_link_libraries(echo_server${SUFFIX} PRIVATE echo_proto${SUFFIX})
    drover_optimize(echo_server${SUFFIX})
  endif()
  # The asynchronous peer's source on Drover.
  if(TARGET echo_proto${SUFFIX} AND NOT TARGET echo_queue_server${SUFFIX})
    add_executable(echo_queue_server${SUFFIX} ${PROJECT_SOURCE_DIR}/bench/peers/grpc_async_server.cc)
    target_compile_options(echo_queue_server${SUFFIX} PRIVATE -O3)
    target_link_libraries(echo_queue_server${SUFFIX} PRIVATE echo_proto${SUFFIX} CLI11::CLI11)
    drover_optimize(echo_queue_server${SUFFIX})
  endif()
endfunction()
