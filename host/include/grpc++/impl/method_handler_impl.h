// The name that <grpcpp/impl/method_handler_impl.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/impl/method_handler_impl.h>
