// In place of upb_subject.cc where no UPB_SRC is given: upb is absent.
#include "bench/codec/subject.h"

namespace drover::bench {

std::unique_ptr<Subject> upb_subject(const BenchMessage&) { return nullptr; }
std::string upb_version() { return ""; }

}  // namespace drover::bench
