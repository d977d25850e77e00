#!/usr/bin/env bash
# Prepares this machine for Drover: the Debian packages of tools/packages.txt, the Python environment .venv and, for the
# tests, two npm packages (the stock gRPC client for Node, the protobuf conformance runner) and two Go programs (h2spec, a stock gRPC client).
#
#   tools/setup.sh           what `make build` and `make demo` need
#   tools/setup.sh --tests   and what only `make test` needs (Node and Go programs; without Node or Go, they skip)
#   tools/setup.sh --interop and what only `make test-interop` needs: gRPC's official interop client, and the
#                            Java and Rust clients (without Maven or cargo, their cases skip)
#
# With everything installed it does nothing and takes well under a second. Logs to build/setup.log.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

with_tests=no with_interop=no
case "${1:-}" in
  "") ;;
  --tests) with_tests=yes ;;
  --interop) with_tests=yes with_interop=yes ;;
  *) echo "usage: tools/setup.sh [--tests | --interop]" >&2; exit 2 ;;
esac

log=build/setup.log
mkdir -p build

say() { echo "setup: $*"; }
fail() { echo "setup: error: $*" >&2; exit 1; }

# run "what it does" command...: runs with output to the log, a sign of life every ten seconds.
run() {
  local what=$1 began=$SECONDS pid
  shift
  say "$what"
  echo "== $*" >>"$log"
  "$@" >>"$log" 2>&1 </dev/null &
  pid=$!
  while kill -0 "$pid" 2>/dev/null; do
    sleep 0.2
    if ((SECONDS - began >= 10 && (SECONDS - began) % 10 == 0)); then
      say "  $((SECONDS - began)) s: $(tail -n 1 "$log" | tr -d '\r' | cut -c1-90)"
      sleep 1
    fi
  done
  if wait "$pid"; then return 0; fi
  echo "setup: that failed; the end of $log:" >&2
  tail -n 15 "$log" | sed 's/^/  | /' >&2
  return 1
}

# The listed packages that this call needs and that are not installed.
missing_packages() {
  local name condition
  local -a wanted=()
  while read -r name condition; do
    [[ -z $name || $name == \#* ]] && continue
    if [[ $condition == unless:* ]]; then
      [[ $with_tests == yes ]] || continue
      command -v "${condition#unless:}" >/dev/null && continue
    fi
    wanted+=("$name")
  done <tools/packages.txt
  # dpkg-query fails where one is unknown to it; those are missing too.
  comm -23 <(printf '%s\n' "${wanted[@]}" | sort) \
    <(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "${wanted[@]}" 2>/dev/null |
      sed -n 's/^installed //p' | sort -u)
}

install_packages() {
  command -v dpkg-query >/dev/null ||
    fail "this is not Debian: install what tools/packages.txt lists with your own tools (Debian 12 is what is tested)"
  local -a missing root=()
  mapfile -t missing < <(missing_packages)
  ((${#missing[@]})) || return 0
  if ((EUID != 0)); then
    command -v sudo >/dev/null ||
      fail "packages are missing and you are neither root nor have sudo; as root, run:
  apt-get install --no-install-recommends ${missing[*]}"
    sudo true || fail "sudo refused; as root, run: apt-get install --no-install-recommends ${missing[*]}"
    root=(sudo)
  fi
  say "${#missing[@]} Debian packages are missing: ${missing[*]}"
  run "apt-get update" "${root[@]}" apt-get update -q ||
    fail "no package lists: check the network and /etc/apt/sources.list"
  run "apt-get install (a fresh machine takes some minutes)" "${root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -q -y --no-install-recommends -o Dpkg::Use-Pty=0 "${missing[@]}" ||
    fail "apt-get could not install the packages; Drover needs Debian 12 (bookworm) with its updates"
}

# .venv carries the checksum of the requirements it was made from.
install_python() {
  local sum python=/usr/bin/python3
  sum=$(sha256sum <tools/requirements.txt | cut -d' ' -f1)
  [[ -x .venv/bin/python && "$(cat .venv/.requirements 2>/dev/null)" == "$sum" ]] && return 0
  [[ -x $python ]] || python=$(command -v python3) || fail "no python3: install Python 3.11 or later"
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    fail "$python is older than Python 3.11, which tools/requirements.txt needs"
  rm -rf .venv
  run "making .venv with $("$python" --version)" "$python" -m venv .venv ||
    fail "no virtual environment: is the package python3-venv installed?"
  run "installing tools/requirements.txt into .venv" .venv/bin/python -m pip install --disable-pip-version-check \
    --only-binary=:all: -r tools/requirements.txt ||
    fail "pip could not install tools/requirements.txt: check the network and pip's configuration"
  echo "$sum" >.venv/.requirements
}

# The Node packages are optional: without them their tests are skipped with a message.
install_node() {
  local sum stamp=tools/node/node_modules/.package-lock
  sum=$(sha256sum <tools/node/package-lock.json | cut -d' ' -f1)
  [[ "$(cat $stamp 2>/dev/null)" == "$sum" ]] && return 0
  if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
    say "no node or npm: the tests with the stock Node client and the conformance suite will skip"
    return 0
  fi
  if run "installing tools/node (stock gRPC client, conformance runner)" npm --prefix tools/node ci --ignore-scripts \
    --no-audit --no-fund; then
    echo "$sum" >$stamp
  else
    say "going on without: the tests with the stock Node client and the conformance suite will skip"
  fi
}

# The Go programs are optional, too: h2spec, and the stock gRPC client of the tests.
install_go() {
  local h2spec=github.com/summerwind/h2spec/cmd/h2spec@v2.2.1 client=tests/clients/go stamp=tools/go/bin/.installed
  local wanted bin=$PWD/tools/go/bin
  wanted="$h2spec $(cat $client/go.mod $client/go.sum $client/main.go | sha256sum)"
  [[ "$(cat $stamp 2>/dev/null)" == "$wanted" ]] && return 0
  if ! command -v go >/dev/null; then
    say "no go: the HTTP/2 conformance suite (h2spec) and the test with the stock Go client will skip"
    return 0
  fi
  if run "installing h2spec with go" env GOBIN="$bin" GOFLAGS=-mod=mod go install "$h2spec+incompatible" &&
    run "building the stock Go client" env GOBIN="$bin" go -C $client install -mod=readonly -buildvcs=false .; then
    echo "$wanted" >$stamp
  else
    say "going on without: the tests that need Go programs will skip (grpc-go needs the Go version of $client/go.mod)"
  fi
}

# The official interop client, of the version of grpc-go that the stock Go client has. Large: a minute or two.
install_interop_client() {
  local version bin=$PWD/tools/go/bin
  version=$(awk '$1 == "google.golang.org/grpc" {print $2}' tests/clients/go/go.mod)
  [[ -x $bin/interop_client && "$(cat "$bin/.interop" 2>/dev/null)" == "$version" ]] && return 0
  command -v go >/dev/null || fail "no go: the interop client is a Go program (install what tests/clients/go/go.mod names)"
  run "building gRPC's interop client $version with go" env GOBIN="$bin/interop" \
    go install "google.golang.org/grpc/interop/client@$version" || fail "go could not build the interop client"
  mv "$bin/interop/client" "$bin/interop_client"
  rmdir "$bin/interop"
  echo "$version" >"$bin/.interop"
}

# The Java client of the common interop cases is optional: FOLDER/classes and FOLDER/lib, FOLDER being tools/java.
install_java_client() {
  local client=tests/clients/java out=$PWD/tools/java wanted
  wanted=$(cat $client/pom.xml $client/src/*.java tests/interop/interop.proto | sha256sum)
  [[ "$(cat "$out/.installed" 2>/dev/null)" == "$wanted" ]] && return 0
  rm -rf "$out"
  if ! command -v mvn >/dev/null || ! command -v javac >/dev/null; then
    say "no mvn or javac: the cases of the Java client will skip (Debian has them in maven and default-jdk-headless)"
    return 0
  fi
  if run "building the Java client with Maven (the first time takes a minute or two)" \
    mvn -B -f $client/pom.xml -DtargetFolder="$out" compile; then
    echo "$wanted" >"$out/.installed"
  else
    rm -rf "$out"
    say "going on without: the cases of the Java client will skip"
  fi
}

# Writes the Rust client's Cargo.lock: Cargo.lock.in, and for each crate the name of the registry, which is taken from a
# lock file that cargo makes.
lock_rust_client() {
  local client=$1 registry
  grep -sv '^source = ' "$client/Cargo.lock" | cmp -s - "$client/Cargo.lock.in" && return 0
  rm -f "$client/Cargo.lock"
  cargo generate-lockfile --manifest-path "$client/Cargo.toml" || return 1
  registry=$(grep -m 1 '^source = ' "$client/Cargo.lock") || return 1
  awk -v registry="$registry" '/^checksum = / {print registry} {print}' "$client/Cargo.lock.in" >"$client/Cargo.lock"
}

# The Rust client of the common interop cases is optional: tools/rust/release/interop_client.
install_rust_client() {
  local client=tests/clients/rust out=$PWD/tools/rust wanted
  wanted=$(cat $client/Cargo.toml $client/Cargo.lock.in $client/build.rs $client/src/main.rs \
    tests/interop/interop.proto | sha256sum)
  [[ "$(cat "$out/.installed" 2>/dev/null)" == "$wanted" ]] && return 0
  rm -f "$out/.installed"
  if ! command -v cargo >/dev/null; then
    say "no cargo: the cases of the Rust client will skip (install Rust with rustup; Debian 12's is too old)"
    return 0
  fi
  if run "locking the Rust client's crates" lock_rust_client $client &&
    run "building the Rust client with cargo (the first time takes a minute or two)" \
      cargo build --release --locked --manifest-path $client/Cargo.toml --target-dir "$out"; then
    echo "$wanted" >"$out/.installed"
  else
    say "going on without: the cases of the Rust client will skip (tonic needs the Rust of $client/Cargo.toml)"
  fi
}

install_packages
install_python
[[ $with_tests == no ]] || { install_node; install_go; }
[[ $with_interop == no ]] || { install_interop_client; install_java_client; install_rust_client; }
