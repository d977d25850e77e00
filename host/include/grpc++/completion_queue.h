// The name that <grpcpp/completion_queue.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/completion_queue.h>
