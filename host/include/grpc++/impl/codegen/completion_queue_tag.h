// The name that <grpcpp/impl/codegen/completion_queue_tag.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/impl/codegen/completion_queue_tag.h>
