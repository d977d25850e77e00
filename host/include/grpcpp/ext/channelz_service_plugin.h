// A header of gRPC that Drover does not have: stock gRPC's, found in its place, would end in a storm of errors.
#pragma once

#error \
    "<grpcpp/ext/channelz_service_plugin.h>: Drover has no channelz: the engine's metrics have its figures (docs/deploy.md)"
