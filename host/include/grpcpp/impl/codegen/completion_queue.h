// Forwards to <grpcpp/completion_queue.h>, where gRPC has had it since the codegen folder went.
#pragma once

#include <grpcpp/completion_queue.h>
