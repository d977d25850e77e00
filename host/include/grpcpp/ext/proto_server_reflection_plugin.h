// Server reflection, which Drover does not serve yet: asking for it is said once on stderr.
#pragma once

namespace grpc::reflection {

void InitProtoReflectionServerBuilderPlugin();

}  // namespace grpc::reflection
