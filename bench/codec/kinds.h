// Messages that consist of one kind of field, for the cost of a field, and of packed varints.
//
// A kind comes as two messages of one type, with `count` and with 2 `count` fields (or elements): the difference of the
// two, divided by `count`, is the cost of one field.
#pragma once

#include "bench/codec/bench_message.h"

namespace drover::bench {

// Messages "kind.NAME.COUNT" of set "kinds" and "packed-varint..." of set "packed". The same seed, the same bytes.
BenchMessages kind_messages();

}  // namespace drover::bench
