// The codec's own test messages (codec/testdata): t.Every, t.Maps and t.Required of proto2 and t3.Implicit of proto3,
// with protobuf C++'s generated classes as the peer.
#pragma once

#include "codec/testdata/every.pb.h"
#include "codec/testdata/implicit.pb.h"
#include "testing/test_schema.h"

namespace drover::testing {

inline const TestSchema& every_schema() {
  static const TestSchema schema(t::Every::descriptor());
  return schema;
}
inline const TestSchema& implicit_schema() {
  static const TestSchema schema(t3::Implicit::descriptor());
  return schema;
}

}  // namespace drover::testing
