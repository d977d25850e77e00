#!/usr/bin/env python3
"""The Debian packages on a machine: installed, used and removed, over a copy of this machine's root.

    run.py --source DIR --packages DIR        as root

The copy is an overlay in a mount namespace of its own: nothing of it stays. The tree and the packages are mounted into
it read-only, at their own paths. In it dpkg installs both packages; the unit
is checked; droverd runs by the unit's command line as another user, with the unit's runtime directory; a project outside
the tree builds README's lines with the package, attaches to that engine, and answers a stock client; dpkg removes the
packages, and no file of theirs is left.
"""

import argparse
import os
import pathlib
import pwd
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

USER = "nobody"
INSTANCE = "orders"
# Below these the copy has other things than the machine, or dpkg writes.
COPIED = ("bin", "dev", "etc", "lib", "lib64", "proc", "run", "sbin", "sys", "tmp", "usr")


def run(*command, **options):
    print("$", *command, flush=True)
    done = subprocess.run([str(word) for word in command], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          **options)
    if done.returncode != 0:
        sys.exit(f"{done.stdout[-6000:]}\nfailed with code {done.returncode}")
    return done.stdout


def refuse_copied(folder):
    """A folder that would hide a part of the copy, or be hidden by it, is not mounted into it."""
    if len(folder.parts) < 2 or folder.parts[1] in COPIED:
        sys.exit(f"{folder}: this test needs the tree and its packages elsewhere than in / or below /{', /'.join(COPIED)}")


def enter_copy(*keep):
    """From here on this process sees an overlay of the root, and the folders `keep` as they are, read-only."""
    os.unshare(os.CLONE_NEWNS) if hasattr(os, "unshare") else unshare_mounts()
    run("mount", "--make-rprivate", "/")
    base = pathlib.Path(tempfile.mkdtemp(prefix="drover-packages-"))
    run("mount", "-t", "tmpfs", "tmpfs", base)
    for name in ("upper", "work", "root"):
        (base / name).mkdir()
    root = base / "root"
    run("mount", "-t", "overlay", "overlay", "-o", f"lowerdir=/,upperdir={base}/upper,workdir={base}/work", root)
    for name in ("proc", "sys", "dev"):
        run("mount", "--rbind", f"/{name}", root / name)
    for name in ("tmp", "run"):
        run("mount", "-t", "tmpfs", "tmpfs", root / name)
    os.chmod(root / "tmp", 0o1777)
    for folder in keep:
        place = root / folder.relative_to("/")
        place.mkdir(parents=True, exist_ok=True)
        run("mount", "--rbind", folder, place)
        run("mount", "-o", "remount,bind,ro", place)
    os.chroot(root)
    os.chdir("/")


def unshare_mounts():
    import ctypes
    if ctypes.CDLL(None, use_errno=True).unshare(0x00020000) != 0:
        sys.exit("no mount namespace: this test needs root")


def files_of(package):
    return [path for path in run("dpkg", "-L", package).splitlines() if not os.path.isdir(path)]


def unit_command(unit):
    """The unit's ExecStart for INSTANCE."""
    found = re.search(r"^ExecStart=(.*)$", unit.read_text(), re.MULTILINE)
    return found.group(1).replace("%i", INSTANCE).split()


def start_engine(unit):
    """droverd as systemd would start it: the unit's user, its runtime directory, its command line."""
    user = pwd.getpwnam(USER)
    runtime = pathlib.Path("/run/drover") / INSTANCE
    runtime.mkdir(parents=True)
    os.chown(runtime, user.pw_uid, user.pw_gid)
    runtime.chmod(0o755)
    config = pathlib.Path("/etc/drover") / f"{INSTANCE}.toml"
    config.parent.mkdir(exist_ok=True)
    config.write_text("[engine]\nthreads = 1\n")

    def become():
        os.setgroups([])
        os.setgid(user.pw_gid)
        os.setuid(user.pw_uid)

    process = subprocess.Popen(unit_command(unit), preexec_fn=become, cwd="/")
    control = runtime / "engine.sock"
    deadline = time.monotonic() + 20
    while not control.exists():
        if process.poll() is not None or time.monotonic() > deadline:
            sys.exit(f"droverd did not come up (exit status {process.poll()})")
        time.sleep(0.05)
    return process, control, become


def build_project(consumer, source, work):
    project, build = work / "project", work / "build"
    lines, count = re.subn(r"(?m)^add_subdirectory\(.*$", "find_package(drover REQUIRED)",
                           consumer.readme_lines(source / "README.md"))
    assert count == 1
    consumer.make_project(source, project, lines)
    run("cmake", "-G", "Ninja", "-S", project, "-B", build, "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_COMPILER=g++",
        "-DCMAKE_C_COMPILER=gcc")
    run("cmake", "--build", build, "--target", "greeter_server")
    return build / "greeter_server"


def main():
    parser = argparse.ArgumentParser(description="The Debian packages, installed and removed.")
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--packages", type=pathlib.Path, required=True)
    options = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("this test installs packages over a copy of the root directory: run it as root")
    source = options.source.resolve()
    folder = options.packages.resolve()
    packages = sorted(folder.glob("*.deb"))
    if len(packages) != 2:
        sys.exit(f"{options.packages} has {len(packages)} packages, not 2: make package")
    keep = [source]
    for other in (folder, (source / ".venv").resolve()):  # links may lead out of the tree
        if not any(other.is_relative_to(known) for known in keep):
            keep.append(other)
    for one in keep:
        refuse_copied(one)
    sys.dont_write_bytecode = True
    enter_copy(*keep)

    run("dpkg", "-i", *packages)
    files = files_of("drover") + files_of("drover-dev")
    for path in ("/usr/bin/droverd", "/usr/bin/drover", "/usr/lib/systemd/system/droverd@.service",
                 "/usr/bin/protoc-gen-drover", "/usr/lib/cmake/drover/droverConfig.cmake"):
        if path not in files and path.replace("/usr/lib/systemd", "/lib/systemd") not in files:
            sys.exit(f"the packages have no {path}")
    if str(source) in subprocess.run(["strings", "-a", "/usr/bin/droverd"], capture_output=True, text=True).stdout:
        sys.exit("droverd names the folder that it was built in")
    unit = next(pathlib.Path(path) for path in files if path.endswith("droverd@.service"))
    if verify := shutil.which("systemd-analyze"):
        run(verify, "verify", f"{unit.parent}/droverd@{INSTANCE}.service")
    print(run("droverd", "--version").strip())

    work = pathlib.Path("/tmp/project")
    work.mkdir()
    engine, control, become = start_engine(unit)
    try:
        sys.path.insert(0, str(source / "tests/consumer"))
        import run as consumer
        consumer.greet(source, build_project(consumer, source, work), preexec_fn=become,
                       env={"PATH": "/usr/bin:/bin", "DROVER_ENGINE": f"unix:{control}"})
    finally:
        engine.send_signal(signal.SIGTERM)
    if engine.wait(timeout=30) != 0:
        sys.exit(f"droverd ended with {engine.returncode}")

    run("dpkg", "--purge", "drover-dev", "drover")
    if left := [path for path in files if os.path.exists(path)]:
        sys.exit(f"files that the packages left: {left}")
    if left := [path for path in ("/usr/include/drover", "/usr/lib/cmake/drover") if os.path.exists(path)]:
        sys.exit(f"folders that the packages left: {left}")
    print("the packages were installed, served a project outside the tree, and left nothing")


if __name__ == "__main__":
    main()
