// The name that <grpcpp/create_channel.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/create_channel.h>
