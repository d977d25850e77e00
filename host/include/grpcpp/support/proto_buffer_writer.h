// A header of gRPC that Drover does not have: stock gRPC's, found in its place, would end in a storm of errors.
#pragma once

#error \
    "<grpcpp/support/proto_buffer_writer.h>: Drover hands over decoded messages only: generic services, raw methods and ByteBuffer are not there yet; register the methods with their messages"
