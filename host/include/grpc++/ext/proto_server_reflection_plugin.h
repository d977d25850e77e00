// The name that <grpcpp/ext/proto_server_reflection_plugin.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/ext/proto_server_reflection_plugin.h>
