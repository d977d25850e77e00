// Replaces upb_subject.cc in a build without UPB_SRC: upb is absent.
#include "bench/codec/subject.h"

namespace drover::bench {

std::unique_ptr<Subject> upb_subject(const BenchMessage&) { return nullptr; }
std::string upb_version() { return ""; }

}  // namespace drover::bench
