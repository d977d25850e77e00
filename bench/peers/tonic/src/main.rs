//! The echo service on tonic: one thread, which runs tokio's current-thread runtime, and prost's messages. The peer
//! `tonic` of the benchmarks. Every call parses its request and serializes the same message as the reply; unlike in
//! gRPC C++, the reply is the request itself, not a copy of it.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status, async_trait};

#[allow(clippy::all)]
mod echo {
    tonic::include_proto!("drover.examples.echo");
}

use echo::echo_server::{Echo, EchoServer};
use echo::{EchoMessage, LargeMessage, MediumMessage, SmallMessage};

struct EchoService {
    busy_loop: Duration,
}

impl EchoService {
    fn reply<Message>(&self, request: Request<Message>) -> Result<Response<Message>, Status> {
        if !self.busy_loop.is_zero() {
            let end = Instant::now() + self.busy_loop;
            while Instant::now() < end {}
        }
        Ok(Response::new(request.into_inner()))
    }
}

#[async_trait]
impl Echo for EchoService {
    async fn unary(&self, request: Request<EchoMessage>) -> Result<Response<EchoMessage>, Status> {
        self.reply(request)
    }
    async fn small(&self, request: Request<SmallMessage>) -> Result<Response<SmallMessage>, Status> {
        self.reply(request)
    }
    async fn medium(&self, request: Request<MediumMessage>) -> Result<Response<MediumMessage>, Status> {
        self.reply(request)
    }
    async fn large(&self, request: Request<LargeMessage>) -> Result<Response<LargeMessage>, Status> {
        self.reply(request)
    }
}

struct Flags {
    address: SocketAddr,
    busy_loop: Duration,
}

/// Takes "--address HOST:PORT" and "--busy-loop-ns N"; what was wrong, otherwise.
fn parse_flags(mut args: impl Iterator<Item = String>) -> Result<Flags, String> {
    let mut flags = Flags { address: SocketAddr::from(([127, 0, 0, 1], 50051)), busy_loop: Duration::ZERO };
    while let Some(name) = args.next() {
        let value = args.next().ok_or_else(|| format!("{name}: a value is missing"))?;
        match name.as_str() {
            "--address" => {
                flags.address = value.parse().map_err(|_| format!("{name}: \"{value}\" is not ADDRESS:PORT"))?;
            }
            "--busy-loop-ns" => {
                let number =
                    value.parse().map_err(|_| format!("{name}: \"{value}\" is not a number of nanoseconds"))?;
                flags.busy_loop = Duration::from_nanos(number);
            }
            _ => {
                return Err(format!("{name} is unknown; usage: tonic_server [--address HOST:PORT] [--busy-loop-ns N]"));
            }
        }
    }
    Ok(flags)
}

async fn serve(flags: Flags) -> Result<(), String> {
    let incoming = TcpIncoming::bind(flags.address)
        .map_err(|error| format!("cannot listen on {}: {error}", flags.address))?
        .with_nodelay(Some(true));
    eprintln!("tonic_server listens on {}", flags.address);
    Server::builder()
        .add_service(EchoServer::new(EchoService { busy_loop: flags.busy_loop }))
        .serve_with_incoming(incoming)
        .await
        .map_err(|error| error.to_string())
}

/// SIGTERM and SIGINT end the process at once: the benchmark stops a server when nothing is in flight.
fn main() -> ExitCode {
    let served = parse_flags(std::env::args().skip(1)).and_then(|flags| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.map_err(|error| error.to_string())?.block_on(serve(flags))
    });
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tonic_server: {error}");
            ExitCode::FAILURE
        }
    }
}
