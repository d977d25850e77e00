//! Generates the messages and the clients from interop.proto.

fn main() -> std::io::Result<()> {
    let folder = "../../interop";
    let proto = "../../interop/interop.proto";
    println!("cargo:rerun-if-changed={proto}");
    tonic_prost_build::configure().build_server(false).compile_protos(&[proto], &[folder])
}
