"""How the rig runs: short or long, and against which build. What sanitizers force it to change stands here alone."""
import os
import re
from dataclasses import dataclass, replace

from measure import MIB

# Debian's protobuf and gRPC are not built with the sanitizers: what they hand over is not theirs to annotate (.ci/run).
# Freed memory is kept back from use so that a use after free is noticed: here less of it than the default 256 MiB, so
# that memory is seen to come back.
SANITIZER_OPTIONS = {
    "ASAN_OPTIONS": "detect_container_overflow=0:quarantine_size_mb=16:allocator_release_to_os_interval_ms=500",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}
# Of a sanitized engine: red zones, the shadow of the heap (an eighth), and the quarantine. Its allocator keeps pages of
# which any part is in use or in quarantine: after window_zero, run three times, 80, 97 and 97 MiB more than at the start stay.
MEMORY_FACTOR, MEMORY_KEPT = 2, 96 * MIB


@dataclass(frozen=True)
class Form:
    long: bool = False
    sanitized: bool = False

    @classmethod
    def of(cls, build, long):
        cache = (build / "CMakeCache.txt").read_text()
        return cls(long, re.search(r"^DROVER_SANITIZE:\w+=.+$", cache, re.M) is not None)

    @property
    def timed(self):
        """Latency and CPU count: not beside other work, as in the short form, and not under sanitizers."""
        return self.long and not self.sanitized

    def environment(self):
        """Of droverd and of the victims' hosts."""
        if not self.sanitized:
            return dict(os.environ)
        options = {key: f"{value}:{os.environ.get(key, '')}".rstrip(":") for key, value in SANITIZER_OPTIONS.items()}
        return {**os.environ, **options}

    def bound(self, bound):
        if not self.sanitized:
            return bound
        return replace(bound, private=bound.private * MEMORY_FACTOR + MEMORY_KEPT,
                       rest_bytes=bound.rest_bytes + MEMORY_KEPT)

    def leaves_out(self, case):
        """Why this form has no such case; empty: it has."""
        if self.sanitized and case.data:
            return "a sanitizer's allocator ends the process where memory ends"
        if case.only_long and not self.long:
            return "long form only"
        return ""
