// The name that <grpcpp/support/channel_arguments.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/support/channel_arguments.h>
