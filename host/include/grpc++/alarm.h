// The name that <grpcpp/alarm.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/alarm.h>
