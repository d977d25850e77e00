// The name that <grpcpp/create_channel_posix.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/create_channel_posix.h>
