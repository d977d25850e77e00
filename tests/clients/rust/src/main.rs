//! The stock Rust client (tonic) of the common interop cases:
//!
//!     interop_client ADDRESS CASE [CA_FILE]
//!
//! Ends with 0, or with 1 and what was wrong. With CA_FILE it speaks TLS. tests/clients/README.md describes the cases,
//! and what of them tonic's API cannot show.

use std::fmt::Debug;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_stream::wrappers::ReceiverStream;
use tonic::codec::CompressionEncoding::Gzip;
use tonic::metadata::{MetadataMap, MetadataValue};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};
use tonic::{Code, Request, Status, Streaming};

mod pb {
    tonic::include_proto!("grpc.testing");
}
use pb::echo_service_client::EchoServiceClient;
use pb::test_service_client::TestServiceClient;
use pb::unimplemented_service_client::UnimplementedServiceClient;

const INITIAL: &str = "x-grpc-test-echo-initial";
const TRAILING: &str = "x-grpc-test-echo-trailing-bin";
const SPECIAL: &str = "\t\ntest with whitespace\r\nand Unicode BMP ☺ and non-BMP 😈\t\n";
const PATIENCE: Duration = Duration::from_secs(30);
const CONCURRENT: usize = 300;

type Failure = Box<dyn std::error::Error + Send + Sync>;
type Outcome = Result<(), Failure>;

fn expect<T: PartialEq + Debug>(actual: T, wanted: T, what: &str) -> Outcome {
    if actual == wanted {
        return Ok(());
    }
    Err(format!("{what}: {:.200}, not {:.200}", format!("{actual:?}"), format!("{wanted:?}")).into())
}

fn failure<T>(result: Result<T, Status>) -> Result<Status, Failure> {
    result.err().ok_or_else(|| "the call did not fail".into())
}

fn payload(body: Vec<u8>) -> Option<pb::Payload> {
    Some(pb::Payload { body, ..Default::default() })
}

fn body(payload: Option<pb::Payload>) -> Vec<u8> {
    payload.unwrap_or_default().body
}

fn within<T>(message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.set_timeout(PATIENCE);
    request
}

fn with_metadata<T>(message: T, initial: &str, trailing: &[u8]) -> Result<Request<T>, Failure> {
    let mut request = within(message);
    request.metadata_mut().insert(INITIAL, initial.parse()?);
    request.metadata_mut().insert_bin(TRAILING, MetadataValue::from_bytes(trailing));
    Ok(request)
}

fn expect_metadata(initial: &MetadataMap, trailing: &MetadataMap, sent: (&str, &[u8]), what: &str) -> Outcome {
    let text = initial.get(INITIAL).map(|value| value.to_str()).transpose()?;
    expect(text, Some(sent.0), &format!("initial metadata of {what}"))?;
    let bytes = trailing.get_bin(TRAILING).map(|value| value.to_bytes()).transpose()?;
    expect(bytes.as_deref(), Some(sent.1), &format!("trailing metadata of {what}"))
}

fn asking(sent: usize, sizes: &[i32]) -> pb::StreamingOutputCallRequest {
    let response_parameters =
        sizes.iter().map(|&size| pb::ResponseParameters { size, ..Default::default() }).collect();
    pb::StreamingOutputCallRequest { response_parameters, payload: payload(vec![0; sent]), ..Default::default() }
}

async fn rest<T>(stream: &mut Streaming<T>) -> Result<Vec<T>, Status> {
    let mut all = Vec::new();
    while let Some(reply) = stream.message().await? {
        all.push(reply);
    }
    Ok(all)
}

struct Cases {
    channel: Channel,
}

impl Cases {
    fn stub(&self) -> TestServiceClient<Channel> {
        TestServiceClient::new(self.channel.clone())
    }

    /// A stub that takes compressed replies, and sends compressed requests if it `compresses`.
    fn stub_that(&self, compresses: bool) -> TestServiceClient<Channel> {
        let stub = self.stub().accept_compressed(Gzip);
        if compresses { stub.send_compressed(Gzip) } else { stub }
    }

    fn echo(&self) -> EchoServiceClient<Channel> {
        EchoServiceClient::new(self.channel.clone())
    }

    async fn run(&self, case: &str) -> Outcome {
        match case {
            "empty_unary" => self.empty_unary().await,
            "large_unary" => self.large_unary().await,
            "client_streaming" => self.client_streaming().await,
            "server_streaming" => self.server_streaming().await,
            "ping_pong" => self.ping_pong().await,
            "empty_stream" => self.empty_stream().await,
            "status_code_and_message" => self.status("test status message").await,
            "special_status_message" => self.status(SPECIAL).await,
            "custom_metadata" => self.custom_metadata().await,
            "cancel_after_begin" => self.cancel_after_begin().await,
            "cancel_after_first_response" => self.cancel_after_first_response().await,
            "timeout_on_sleeping_server" => self.timeout_on_sleeping_server().await,
            "client_compressed_unary" => self.client_compressed_unary().await,
            "client_compressed_streaming" => self.client_compressed_streaming().await,
            "server_compressed_unary" => self.server_compressed_unary().await,
            "server_compressed_streaming" => self.server_compressed_streaming().await,
            "unimplemented_method" => {
                let result = self.stub().unimplemented_call(within(pb::Empty {})).await;
                expect(failure(result)?.code(), Code::Unimplemented, "status")
            }
            "unimplemented_service" => {
                let mut stub = UnimplementedServiceClient::new(self.channel.clone());
                let result = stub.unimplemented_call(within(pb::Empty {})).await;
                expect(failure(result)?.code(), Code::Unimplemented, "status")
            }
            "concurrent_unary" => self.concurrent_unary().await,
            "concurrent_streams" => self.concurrent_streams().await,
            _ => Err("there is no such case".into()),
        }
    }

    async fn empty_unary(&self) -> Outcome {
        expect(self.stub().empty_call(within(pb::Empty {})).await?.into_inner(), pb::Empty {}, "reply")
    }

    async fn large_unary(&self) -> Outcome {
        let request = pb::SimpleRequest {
            response_size: 314_159,
            payload: payload(vec![0; 271_828]),
            ..Default::default()
        };
        let reply = self.stub().unary_call(within(request)).await?.into_inner();
        expect(body(reply.payload), vec![0; 314_159], "reply")
    }

    async fn client_streaming(&self) -> Outcome {
        let requests = [27182, 8, 1828, 45904].map(|size| pb::StreamingInputCallRequest {
            payload: payload(vec![0; size]),
            ..Default::default()
        });
        let reply = self.stub().streaming_input_call(within(tokio_stream::iter(requests))).await?.into_inner();
        expect(reply.aggregated_payload_size, 74922, "aggregated size")
    }

    async fn server_streaming(&self) -> Outcome {
        let sizes = [31415, 9, 2653, 58979];
        let mut replies = self.stub().streaming_output_call(within(asking(0, &sizes))).await?.into_inner();
        let bodies: Vec<_> = rest(&mut replies).await?.into_iter().map(|reply| body(reply.payload)).collect();
        expect(bodies, sizes.map(|size| vec![0; size as usize]).to_vec(), "replies")
    }

    async fn ping_pong(&self) -> Outcome {
        let rounds = [(27182, 31415), (8, 9), (1828, 2653), (45904, 58979)];
        let (requests, receiver) = mpsc::channel(1);
        // tonic gives a stream of replies when its headers have come: with the first reply.
        requests.send(asking(rounds[0].0, &[rounds[0].1])).await?;
        let mut replies = self.stub().full_duplex_call(within(ReceiverStream::new(receiver))).await?.into_inner();
        for (round, (sent, asked)) in rounds.into_iter().enumerate() {
            if round > 0 {
                requests.send(asking(sent, &[asked])).await?;
            }
            let reply = replies.message().await?.ok_or("the stream ended")?;
            expect(body(reply.payload), vec![0; asked as usize], "reply")?;
        }
        drop(requests);
        expect(rest(&mut replies).await?, vec![], "replies after the end")
    }

    async fn empty_stream(&self) -> Outcome {
        let requests = tokio_stream::iter(Vec::new());
        let mut replies = self.stub().full_duplex_call(within(requests)).await?.into_inner();
        expect(rest(&mut replies).await?, vec![], "replies")
    }

    async fn status(&self, message: &str) -> Outcome {
        let response_status = Some(pb::EchoStatus { code: Code::Unknown as i32, message: message.into() });
        let wanted = (Code::Unknown, message);
        let request = pb::SimpleRequest { response_status: response_status.clone(), ..Default::default() };
        let unary = failure(self.stub().unary_call(within(request)).await)?;
        expect((unary.code(), unary.message()), wanted, "unary")?;
        let request = pb::StreamingOutputCallRequest { response_status, ..Default::default() };
        let stream = match self.stub().full_duplex_call(within(tokio_stream::iter([request]))).await {
            Ok(replies) => failure(rest(&mut replies.into_inner()).await)?,
            Err(status) => status,
        };
        expect((stream.code(), stream.message()), wanted, "stream")
    }

    async fn custom_metadata(&self) -> Outcome {
        let sent = ("test_initial_metadata_value", &b"\xab\xab\xab"[..]);
        let request = pb::SimpleRequest { response_size: 1, ..Default::default() };
        let unary = self.stub().unary_call(with_metadata(request, sent.0, sent.1)?).await?;
        // A unary call has one map of both in tonic.
        expect_metadata(unary.metadata(), unary.metadata(), sent, "unary")?;
        let requests = tokio_stream::iter([asking(0, &[1])]);
        let stream = self.stub().full_duplex_call(with_metadata(requests, sent.0, sent.1)?).await?;
        let initial = stream.metadata().clone();
        let mut replies = stream.into_inner();
        expect(rest(&mut replies).await?.len(), 1, "replies")?;
        expect_metadata(&initial, &replies.trailers().await?.unwrap_or_default(), sent, "stream")
    }

    /// A call is cancelled by dropping it, so there is no status to see: the case checks that the channel serves on.
    async fn cancel_after_begin(&self) -> Outcome {
        let (requests, receiver) = mpsc::channel(1);
        let call = tokio::spawn({
            let mut stub = self.stub();
            async move { stub.streaming_input_call(within(ReceiverStream::new(receiver))).await }
        });
        let request = pb::StreamingInputCallRequest { payload: payload(vec![0; 27182]), ..Default::default() };
        requests.send(request).await?;
        requests.reserve().await?; // the call has taken the first request: it has begun
        call.abort();
        expect(call.await.is_err_and(|error| error.is_cancelled()), true, "cancelled")?;
        requests.closed().await; // the call and its stream of requests are gone
        self.empty_unary().await
    }

    /// A stream that has begun is cancelled by dropping both of its directions: while the requests are open, tonic keeps
    /// it. Neither shows when the stream is gone.
    async fn cancel_after_first_response(&self) -> Outcome {
        let (requests, receiver) = mpsc::channel(1);
        requests.send(asking(27182, &[31415])).await?;
        let mut replies = self.stub().full_duplex_call(within(ReceiverStream::new(receiver))).await?.into_inner();
        let reply = replies.message().await?.ok_or("the stream ended")?;
        expect(body(reply.payload), vec![0; 31415], "reply")?;
        drop((replies, requests));
        self.empty_unary().await
    }

    async fn timeout_on_sleeping_server(&self) -> Outcome {
        self.empty_unary().await?; // the deadline is to begin on a channel that is connected
        let mut request = asking(27182, &[]);
        request.response_parameters.push(pb::ResponseParameters {
            size: 1,
            interval_us: 2_000_000,
            ..Default::default()
        });
        let (requests, receiver) = mpsc::channel(1);
        requests.send(request).await?;
        let mut call = Request::new(ReceiverStream::new(receiver));
        call.set_timeout(Duration::from_millis(200));
        let began = Instant::now();
        let status = failure(self.stub().full_duplex_call(call).await)?;
        // tonic has a timer of its own, which names another status than the server's.
        if (status.code(), status.message()) != (Code::Cancelled, "Timeout expired") {
            expect(status.code(), Code::DeadlineExceeded, "status")?;
        }
        expect(began.elapsed() < Duration::from_millis(1500), true, "an end at the deadline")?;
        self.empty_unary().await
    }

    async fn client_compressed_unary(&self) -> Outcome {
        for compressed in [true, false] {
            let request = pb::SimpleRequest {
                expect_compressed: Some(pb::BoolValue { value: compressed }),
                response_size: 314_159,
                payload: payload(vec![0; 271_828]),
                ..Default::default()
            };
            let reply = self.stub_that(compressed).unary_call(within(request)).await?.into_inner();
            expect(body(reply.payload), vec![0; 314_159], "reply")?;
        }
        Ok(())
    }

    async fn client_compressed_streaming(&self) -> Outcome {
        for compressed in [true, false] {
            let requests = [27182, 45904].map(|size| pb::StreamingInputCallRequest {
                expect_compressed: Some(pb::BoolValue { value: compressed }),
                payload: payload(vec![0; size]),
            });
            let requests = within(tokio_stream::iter(requests));
            let reply = self.stub_that(compressed).streaming_input_call(requests).await?.into_inner();
            expect(reply.aggregated_payload_size, 73086, "aggregated size")?;
        }
        Ok(())
    }

    async fn server_compressed_unary(&self) -> Outcome {
        for (value, size) in [(true, 314_159), (false, 92653)] {
            let request = pb::SimpleRequest {
                response_compressed: Some(pb::BoolValue { value }),
                response_size: size,
                ..Default::default()
            };
            let reply = self.stub_that(false).unary_call(within(request)).await?.into_inner();
            expect(body(reply.payload), vec![0; size as usize], "reply")?;
        }
        Ok(())
    }

    async fn server_compressed_streaming(&self) -> Outcome {
        let wanted = [(true, 31415), (false, 92653)];
        let response_parameters = wanted.map(|(value, size)| pb::ResponseParameters {
            size,
            compressed: Some(pb::BoolValue { value }),
            ..Default::default()
        });
        let request = pb::StreamingOutputCallRequest {
            response_parameters: response_parameters.to_vec(),
            ..Default::default()
        };
        let mut replies = self.stub_that(false).streaming_output_call(within(request)).await?.into_inner();
        let bodies: Vec<_> = rest(&mut replies).await?.into_iter().map(|reply| body(reply.payload)).collect();
        expect(bodies, wanted.map(|(_, size)| vec![0; size as usize]).to_vec(), "replies")
    }

    async fn concurrent_unary(&self) -> Outcome {
        let mut calls = JoinSet::new();
        for i in 0..CONCURRENT {
            let mut echo = self.echo();
            calls.spawn(async move {
                let sent = format!("call {i} ").repeat(1 + i * 37 % 2000).into_bytes();
                let (initial, trailing) = (format!("initial {i}"), format!("trailing {i}"));
                let request = payload(sent.clone()).unwrap_or_default();
                let reply = echo.echo(with_metadata(request, &initial, trailing.as_bytes())?).await?;
                let echoed = (initial.as_str(), trailing.as_bytes());
                expect_metadata(reply.metadata(), reply.metadata(), echoed, &format!("call {i}"))?;
                expect(reply.into_inner().body, sent, &format!("reply {i}"))
            });
        }
        calls.join_all().await.into_iter().collect()
    }

    async fn concurrent_streams(&self) -> Outcome {
        let mut calls = JoinSet::new();
        for i in 0..CONCURRENT {
            let mut echo = self.echo();
            calls.spawn(async move {
                let text = |j: usize| format!("stream {i} message {j} ").repeat(1 + (i * 31 + j * 7) % 500);
                let sent: Vec<_> = (0..5).filter_map(|j| payload(text(j).into_bytes())).collect();
                let requests = tokio_stream::iter(sent.clone());
                let mut replies = echo.echo_stream(within(requests)).await?.into_inner();
                expect(rest(&mut replies).await?, sent, &format!("replies of stream {i}"))
            });
        }
        calls.join_all().await.into_iter().collect()
    }
}

async fn run(address: &str, case: &str, ca_file: Option<&str>) -> Outcome {
    let endpoint = match ca_file {
        Some(file) => {
            let tls = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(std::fs::read(file)?));
            Endpoint::from_shared(format!("https://{address}"))?.tls_config(tls)?
        }
        None => Endpoint::from_shared(format!("http://{address}"))?,
    };
    Cases { channel: endpoint.connect().await? }.run(case).await
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, case, ca_file @ ..] = &arguments[..] else {
        eprintln!("usage: interop_client ADDRESS CASE [CA_FILE]");
        return ExitCode::from(2);
    };
    match run(address, case, ca_file.first().map(String::as_str)).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{case}: {error}");
            ExitCode::FAILURE
        }
    }
}
