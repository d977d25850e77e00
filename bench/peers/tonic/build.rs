//! Generates the messages and the service from echo.proto. ECHO_PROTO_DIR names the folder of another one with the same
//! service, such as the published HyperProtoBench's.

use std::path::PathBuf;

fn main() -> std::io::Result<()> {
    println!("cargo:rerun-if-env-changed=ECHO_PROTO_DIR");
    let folder = std::env::var_os("ECHO_PROTO_DIR").map_or("../../../examples/echo".into(), PathBuf::from);
    let proto = folder.join("echo.proto");
    println!("cargo:rerun-if-changed={}", proto.display());
    tonic_prost_build::configure().build_client(false).compile_protos(&[proto], &[folder])
}
