"""The peers of the echo benchmark: which there are, their versions, and the builds of those that CMake does not know.

tonic and grpc-go come from their languages' registries, at the versions that Cargo.toml and go.mod name, and are
built for the benchmark only. Everything that their builds write lies below build/peers/:

  bin/                     tonic_server and grpc_go_server; with the suffix _hpb, those for the published messages
  tonic/, tonic_hpb/       cargo's target folders
  grpc-go/, grpc-go_hpb/   protoc's plugins, and the code that they generate
  tonic.log, ...           what the builds printed
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import time
import tomllib
from collections.abc import Callable
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCES = ROOT / "bench/peers"
OUT = ROOT / "build/peers"
BIN = OUT / "bin"
SIGN_OF_LIFE_S = 10

TONIC_PARTS = ("tonic", "prost", "tokio")  # of Cargo.toml, whose versions are recorded
GO_PARTS = {"grpc-go": "google.golang.org/grpc", "protobuf-go": "google.golang.org/protobuf"}
GO_PLUGINS = ("google.golang.org/protobuf/cmd/protoc-gen-go", "google.golang.org/grpc/cmd/protoc-gen-go-grpc")


class BuildFailed(Exception):
    """A peer cannot be built; the message says why, and what to install where something is missing."""


@dataclass(frozen=True)
class Build:
    """One build of a peer, for the echo.proto of one folder."""
    peer: "Peer"
    suffix: str
    proto_dir: pathlib.Path
    jobs: int
    say: Callable[[str], None]

    @property
    def sources(self) -> pathlib.Path:
        return SOURCES / self.peer.name

    @property
    def folder(self) -> pathlib.Path:
        return OUT / (self.peer.name + self.suffix)

    @property
    def program(self) -> pathlib.Path:
        return BIN / (self.peer.program + self.suffix)

    @property
    def log(self) -> pathlib.Path:
        return OUT / f"{self.peer.name}{self.suffix}.log"

    def run(self, command: list, **environment: str | pathlib.Path) -> None:
        """Runs a step in the peer's folder, with its output in the peer's log and a sign of life now and then."""
        began = time.monotonic()
        with open(self.log, "ab") as out, subprocess.Popen(
                command, cwd=self.sources, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                env=os.environ | {name: str(value) for name, value in environment.items()}) as process:
            try:
                while process.poll() is None:
                    try:
                        process.wait(SIGN_OF_LIFE_S)
                    except subprocess.TimeoutExpired:
                        self.say(f"  {time.monotonic() - began:.0f} s: {_last_lines(self.log, 1).strip()[:90]}")
            except BaseException:
                process.kill()
                raise
        if process.returncode != 0:
            raise BuildFailed(f"{self.peer.name} cannot be built: {command[0]} ended with code {process.returncode}; "
                              f"the end of {self.log}:\n{_last_lines(self.log, 20)}")


def _last_lines(log: pathlib.Path, count: int) -> str:
    return "\n".join("    " + line for line in log.read_text(errors="replace").splitlines()[-count:])


def build_tonic(build: Build) -> None:
    build.run(["cargo", "build", "--release", "--jobs", str(build.jobs)], CARGO_TARGET_DIR=build.folder,
              ECHO_PROTO_DIR=build.proto_dir, PROTOC=_find_protoc())
    shutil.copy2(build.folder / "release/tonic_server", build.program)


def build_grpc_go(build: Build) -> None:
    """The generated package stays out of the source tree: an overlay shows it to the compiler as the folder echo/."""
    plugins, generated = build.folder / "plugins", build.folder / "echo"
    shutil.rmtree(generated, ignore_errors=True)
    generated.mkdir(parents=True)
    go_build = ["go", "build", "-mod=readonly", "-buildvcs=false", "-p", str(build.jobs)]
    build.run([*go_build, "-o", f"{plugins}/", *GO_PLUGINS])
    options = "paths=source_relative,Mecho.proto=drover/bench/peers/grpc-go/echo"
    build.run([_find_protoc(), "-I", build.proto_dir, "echo.proto",
               *(f"--plugin={plugins / pathlib.PurePath(plugin).name}" for plugin in GO_PLUGINS),
               f"--go_out={options}:{generated}", f"--go-grpc_out={options}:{generated}"])
    overlay = build.folder / "overlay.json"
    shown = {str(build.sources / "echo" / file.name): str(file) for file in generated.iterdir()}
    overlay.write_text(json.dumps({"Replace": shown}))
    build.run([*go_build, "-overlay", overlay, "-o", build.program, "."])


def _find_protoc() -> str:
    protoc = shutil.which("protoc")
    if protoc is None:
        raise BuildFailed("there is no protoc: run make setup, or install Debian's protobuf-compiler")
    return protoc


@dataclass(frozen=True)
class Toolchain:
    """The compiler of a peer, of at least the version that the peer's own manifest asks for."""
    command: tuple[str, ...]
    needs: str
    advice: str
    manifest: str
    least: str  # where the manifest states the version
    build: Callable[[Build], None]

    def version(self, sources: pathlib.Path) -> str | None:
        """The version that the peer's folder gets, for rustup and go choose by folder; None without the tool."""
        try:
            done = subprocess.run(self.command, cwd=sources, capture_output=True, text=True, check=True)
        except (OSError, subprocess.CalledProcessError):
            return None
        found = re.search(r"\d+(\.\d+)+", done.stdout)
        return found.group() if found else None

    def check(self, peer: str) -> None:
        sources = SOURCES / peer
        wanted = re.search(self.least, (sources / self.manifest).read_text(), re.M).group(1)
        found = self.version(sources)
        if found is None or numbers(found) < numbers(wanted):
            has = f"{self.command[0]} here is {found}" if found else f"`{' '.join(self.command)}` does not run"
            raise BuildFailed(f"the peer {peer} needs {self.needs} {wanted} or later, and {has}. {self.advice}; or "
                              f"leave the peer out with --peers (make bench-echo PEERS=...)")


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


RUST = Toolchain(command=("rustc", "--version"), needs="cargo and rustc",
                 advice="Debian 12's are too old (1.63): install Rust with rustup",
                 manifest="Cargo.toml", least=r'^rust-version = "([\d.]+)"', build=build_tonic)
GO = Toolchain(command=("go", "version"), needs="go",
               advice="Debian 12's is too old (1.19): install a release of the Go project",
               manifest="go.mod", least=r"^go ([\d.]+)$", build=build_grpc_go)


@dataclass(frozen=True)
class Peer:
    """A server to compare with: its name in echo.json, its program, and what builds it (None: CMake)."""
    name: str
    program: str
    toolchain: Toolchain | None = None

    def versions(self) -> dict[str, str]:
        """{part: version} of what the peer is made of."""
        if self.toolchain is RUST:
            named = tomllib.loads((SOURCES / self.name / "Cargo.toml").read_text())["dependencies"]
            found = {part: named[part] if isinstance(named[part], str) else named[part]["version"]
                     for part in TONIC_PARTS}
            return {part: version.lstrip("=") for part, version in found.items()} | {
                "rustc": RUST.version(SOURCES / self.name) or "?"}
        if self.toolchain is GO:
            modules = (SOURCES / self.name / "go.mod").read_text()
            found = {part: re.search(rf"{re.escape(module)} v(\S+)", modules) for part, module in GO_PARTS.items()}
            return {part: match.group(1) for part, match in found.items()} | {
                "go": GO.version(SOURCES / self.name) or "?"}
        return {part: _debian_version(library) for part, library in (("gRPC C++", "grpc++"), ("protobuf", "protobuf"))}


def _debian_version(library: str) -> str:
    done = subprocess.run(["pkg-config", "--modversion", library], capture_output=True, text=True, check=False)
    return done.stdout.strip() or "?"


PEERS = [
    Peer("grpc-async", "grpc_async_server"),
    Peer("grpc-callback", "grpc_callback_server"),
    Peer("tonic", "tonic_server", RUST),
    Peer("grpc-go", "grpc_go_server", GO),
]
DEFAULT = ",".join(peer.name for peer in PEERS if peer.toolchain is None)


def choose(text: str) -> list[Peer]:
    """For argparse: the peers of a list such as "grpc-async,tonic", or "all" of them, in the order of PEERS."""
    names = [peer.name for peer in PEERS] if text == "all" else text.split(",")
    for name in names:
        if name not in (peer.name for peer in PEERS):
            known = ",".join(peer.name for peer in PEERS)
            raise argparse.ArgumentTypeError(f"there is no peer {name!r}: give all, or some of {known}")
    return [peer for peer in PEERS if peer.name in names]


def build(peers: list[Peer], proto_dirs: dict[str, pathlib.Path], jobs: int, say: Callable[[str], None]) -> None:
    """Builds the peers that CMake does not, for each {suffix: folder of echo.proto}; checks all toolchains first.

    cargo and go themselves find out what is up to date."""
    peers = [peer for peer in peers if peer.toolchain]
    for peer in peers:
        peer.toolchain.check(peer.name)
    for peer in peers:
        for suffix, proto_dir in proto_dirs.items():
            one = Build(peer, suffix, proto_dir, jobs, say)
            say(f"building {one.program.name} with {peer.toolchain.needs} (the first time takes minutes)")
            BIN.mkdir(parents=True, exist_ok=True)
            one.log.unlink(missing_ok=True)
            peer.toolchain.build(one)
