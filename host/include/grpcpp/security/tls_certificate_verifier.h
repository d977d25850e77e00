// A header of gRPC that Drover does not have: stock gRPC's, found in its place, would end in a storm of errors.
#pragma once

#error \
    "<grpcpp/security/tls_certificate_verifier.h>: Drover has no such credentials: use InsecureServerCredentials or SslServerCredentials of <grpcpp/security/server_credentials.h>"
