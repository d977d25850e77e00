// The name that <grpcpp/impl/channel_argument_option.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/impl/channel_argument_option.h>
