// The former names of what lies in testing/.
#pragma once

#include "testing/test_object.h"
#include "testing/test_schema.h"

namespace drover::workload::testing {

using drover::testing::die;
using drover::testing::parse_proto;
using Object = drover::testing::TestObject;
using PeerSchema = drover::testing::TestSchema;

}  // namespace drover::workload::testing
