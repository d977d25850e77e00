// A header of gRPC that Drover does not have: stock gRPC's, found in its place, would end in a storm of errors.
#pragma once

#error "<grpcpp/ext/call_metric_recorder.h>: Drover has no load reports yet"
