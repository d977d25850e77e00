// Everything that a gRPC C++ server includes, as <grpcpp/grpcpp.h> does it. Drover has no client side here.
#pragma once

#include <google/protobuf/message.h>
#include <grpc/grpc.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/async_unary_call.h>
#include <grpcpp/support/server_callback.h>
#include <grpcpp/support/status.h>
#include <grpcpp/support/sync_stream.h>
#include <grpcpp/version_info.h>

#include <iostream>  // gRPC's headers bring it, and services rely on that
