#!/usr/bin/env python3
"""README's "Move a service over" as a test: a project outside the tree, with its lines, builds and answers a stock client.

    run.py --source DIR --cxx COMPILER folder
    run.py --source DIR --cxx COMPILER package --build-dir DIR

`folder` adds Drover by add_subdirectory, and builds what the service needs of it. `package` installs a finished build
into a folder of its own and finds it by find_package. The greeter's source is that of examples/greeter, and so is the
stock Python client. A key-value service on RPC lines, the source of examples/lines_kv, is built and called, too.
"""

import argparse
import contextlib
import hashlib
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

START_SECONDS = 30
# Targets that are not Drover's: CMake's own, Ninja's, and the consumer's.
OTHER_TARGETS = re.compile(
    r"^(all|clean|help|test|install.*|edit_cache|rebuild_cache|list_install_components|build\.ninja|.*/.*|"
    r"(greeter_proto|echo_server|echo_proto|object_test|codec_test|test_server|testing_proto|demo)|"
    r"greeter_server|helloworld_proto|kv_server|kv_client|lines_kv_proto|lib\w+\.a)$")
DROVER_TARGET = re.compile(r"^(lib)?drover|^droverd$|^protoc-gen-drover$")
# Options of CMake, of the modules that Drover finds libraries with, and Drover's.
OTHER_OPTIONS = re.compile(r"^(CMAKE_|PKG_CONFIG_|Protobuf_|DROVER_)")


def run(*command, **options):
    print("$", *command, flush=True)
    result = subprocess.run([str(word) for word in command], text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, **options)
    if result.returncode != 0:
        sys.exit(f"{result.stdout[-6000:]}\nfailed with code {result.returncode}")
    return result.stdout


def readme_lines(readme):
    """The block of README.md that moves a service over."""
    for block in re.findall(r"```cmake\n(.*?)```", readme.read_text(), re.DOTALL):
        if "drover_generate(TARGET helloworld_proto" in block:
            return block
    sys.exit(f"{readme} has no cmake block with drover_generate(TARGET helloworld_proto")


def make_project(source, project, lines):
    shutil.copytree(source / "tests/consumer", project, ignore=shutil.ignore_patterns("*.py"))
    for name in ("greeter_server.cc", "helloworld.proto"):
        shutil.copy(source / "examples/greeter" / name, project)
    for name in ("kv_server.cc", "kv_client.cc", "kv_store.h", "kv_load.h", "kv.proto"):
        shutil.copy(source / "examples/lines_kv" / name, project)
    (project / "readme.cmake").write_text(lines)


def check_names(build):
    """Drover's targets and options say whose they are."""
    listed = run("cmake", "--build", build, "--target", "help")
    targets = {line.split(":")[0] for line in listed.splitlines() if ": " in line}
    strangers = {t for t in targets if not OTHER_TARGETS.match(t) and not DROVER_TARGET.match(t)}
    # Ninja names the files that it makes, too.
    strangers = {t for t in strangers if "." not in t and " " not in t}
    if strangers:
        sys.exit(f"targets in the user's project that are not named after Drover: {sorted(strangers)}")
    options = re.findall(r"^([A-Za-z_]\w*):(?:BOOL|STRING)=", (build / "CMakeCache.txt").read_text(), re.MULTILINE)
    if strange := [name for name in options if not OTHER_OPTIONS.match(name)]:
        sys.exit(f"options in the user's project that are not named after Drover: {strange}")


@contextlib.contextmanager
def work_folder(options):
    """A folder outside the tree, the same in each run, so that a compiler cache knows the paths."""
    tree = hashlib.sha256(str(options.source).encode()).hexdigest()[:8]
    name = f"drover-consumer-{os.getuid()}-{tree}-{options.way}-{pathlib.Path(options.cxx).name}"
    folder = pathlib.Path(tempfile.gettempdir()) / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def greet(source, server, **started):
    """A stock client greets `server`, which subprocess.Popen starts with `started`."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    process = subprocess.Popen([server, address], stdin=subprocess.DEVNULL, **started)
    try:
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                socket.create_connection(address.rsplit(":", 1), timeout=1).close()
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > deadline:
                    sys.exit(f"the greeter does not listen (exit status {process.poll()})")
                time.sleep(0.05)
        out = run(source / ".venv/bin/python", source / "examples/greeter/clients/greeter_client.py", address, "Ada")
        if "Hello Ada" not in out:
            sys.exit(f"the client got no greeting: {out}")
    finally:
        process.terminate()
        process.wait(timeout=10)


def call_lines(build, work, environment):
    """examples/lines_kv: a server and a client of RPC lines, whose engine the server starts."""
    environment = {**environment, "XDG_RUNTIME_DIR": str(work)}
    log = work / "kv_server.log"
    with log.open("w") as output:
        process = subprocess.Popen([build / "kv_server"], env=environment, stdin=subprocess.DEVNULL, stdout=output,
                                   stderr=subprocess.STDOUT)
    try:
        # The process that comes first starts the engine, which keeps the output that it inherits: let it be the server.
        deadline = time.monotonic() + 10
        while "serving " not in log.read_text() and time.monotonic() < deadline:
            time.sleep(0.05)
        out = run(build / "kv_client", "load", "2000", env=environment)
        if "2000 calls, all as they should be" not in out:
            sys.exit(f"the calls as RPC lines went wrong: {out}")
    finally:
        process.terminate()
        process.wait(timeout=10)


def main():
    parser = argparse.ArgumentParser(description="A project outside the tree that uses Drover.")
    parser.add_argument("way", choices=["folder", "package"])
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--build-dir", type=pathlib.Path, help="a finished build, for `package`")
    parser.add_argument("--cxx", required=True)
    parser.add_argument("--jobs", default=str(os.cpu_count()))
    options = parser.parse_args()
    lines = readme_lines(options.source / "README.md")
    with work_folder(options) as work:
        project, build, prefix = work / "project", work / "build", work / "prefix"
        make_project(options.source, project, lines)
        settings = [f"-DCMAKE_CXX_COMPILER={options.cxx}",
                    f"-DCMAKE_C_COMPILER={options.cxx.replace('clang++', 'clang').replace('g++', 'gcc')}"]
        if ccache := shutil.which("ccache"):
            settings += [f"-DCMAKE_{language}_COMPILER_LAUNCHER={ccache}" for language in ("C", "CXX")]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("DROVER_")}
        if options.way == "folder":
            (project / "third_party").mkdir()
            (project / "third_party/drover").symlink_to(options.source)
        else:
            run("cmake", "--install", options.build_dir, "--prefix", prefix)
            lines, count = re.subn(r"(?m)^add_subdirectory\(.*$", "find_package(drover REQUIRED)", lines)
            if count != 1:
                sys.exit("README's lines have no add_subdirectory() to put find_package() in the place of")
            (project / "readme.cmake").write_text(lines)
            settings += [f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_BUILD_TYPE=Release"]
            environment["DROVER_DROVERD"] = str(prefix / "bin/droverd")
        run("cmake", "-G", "Ninja", "-S", project, "-B", build, *settings)
        check_names(build)
        run("cmake", "--build", build, "-j", options.jobs)
        greet(options.source, build / "greeter_server", env=environment)
        call_lines(build, work, environment)
    print("the greeter and the key-value service of a project outside the tree answer")


if __name__ == "__main__":
    main()
