"""Rigs for the attacks, and the report of what they measured.

    --hostile-long            the long form: full sizes, an engine for each case, latency judged
    --hostile-open            runs the cases that are marked as open like all others, to see whether they still are
    --hostile-report FILE     a line a case: what was measured, and the verdict, whether it passed or not
"""
import pathlib
import sys

import pytest

from stubs import make_stubs


def pytest_addoption(parser):
    parser.addoption("--hostile-long", action="store_true")
    parser.addoption("--hostile-open", action="store_true")
    parser.addoption("--hostile-report")


def pytest_configure(config):
    formats = pathlib.Path(config.getoption("--build-dir")).resolve() / "formats" / "python"
    sys.path.insert(0, str(formats))



@pytest.fixture(scope="session")
def form(request, build_dir):
    from form import Form
    return Form.of(build_dir, request.config.getoption("--hostile-long"))


@pytest.fixture(scope="session")
def long_form(form):
    return form.long


@pytest.fixture(scope="session")
def stub_folder(build_dir):
    return make_stubs(build_dir)


@pytest.fixture(scope="session")
def rigs(build_dir, stub_folder, form):
    """rigs(case): an engine for it. In the short form cases of one configuration share one, as long as it holds."""
    import rig as rig_module
    kept = {}

    def rig_for(case):
        key = case.engine()
        old = kept.get(key)
        if old is not None and not (form.long or old.broken):
            return old
        for other in list(kept):
            kept.pop(other).stop()
        kept[key] = rig_module.Rig(build_dir, stub_folder, case, form)
        return kept[key]

    yield rig_for
    for rig in kept.values():
        rig.stop()


@pytest.fixture
def attack(request, rigs, form):
    """attack(case): runs it, reports it, and fails with the violations."""

    def run(case):
        is_open = case.open and not request.config.getoption("--hostile-open")
        if why := form.leaves_out(case):
            pytest.skip(why)
        if is_open and not form.long and case.open_slow:
            pytest.skip(f"long form only: {case.open}")
        if is_open and (form.long or not case.open_long):
            request.applymarker(pytest.mark.xfail(reason=case.open, strict=True))
        measured, found = rigs(case).judge(case)
        report(request.config.getoption("--hostile-report"), case, measured, found)
        assert not found, "\n".join(found)

    return run


def report(path, case, measured, found):
    if not path:
        return

    def latency(name):
        quiet, attacked = measured.quiet[name], measured.attacked[name]
        return f"{quiet.p50 * 1e3:.1f} / {quiet.p99 * 1e3:.1f} -> {attacked.p50 * 1e3:.1f} / {attacked.p99 * 1e3:.1f}"

    mib = 1 << 20
    back = "never" if measured.back_after is None else f"{measured.back_after:.1f} s"
    cells = [case.name, f"{measured.start.private / mib:.0f} -> {measured.peak_private / mib:.0f}",
             f"{(measured.peak_shared - measured.start.shared) / mib:+.0f}", back, latency("service"),
             latency("neighbour"), f"{measured.cpu_share:.2f}", str(measured.notes) if measured.notes else "",
             "held" if not found else "OPEN: " + "; ".join(text[:200] for text in found)]
    new = not pathlib.Path(path).exists()
    with open(path, "a") as file:
        if new:
            file.write("| case | RssAnon, MiB | RssShmem, MiB | back after | service p50 / p99 quiet -> attacked, ms "
                       "| neighbour, ms | engine CPU s/s | notes | verdict |\n" + "|" + " --- |" * 9 + "\n")
        file.write("| " + " | ".join(cell.replace("|", "/").replace("\n", " ") for cell in cells) + " |\n")
