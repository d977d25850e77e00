// gRPC's header of client credentials; servers include it by habit. Drover has no client side here.
#pragma once

#include <grpcpp/security/server_credentials.h>
