// The echo service on grpc-go with protobuf-go's messages: the peer `grpc-go` of the benchmarks. Every call parses its
// request and serializes the same message as the reply; unlike in gRPC C++, the reply is the request itself, not a copy
// of it. The package echo is generated into the build directory (bench/echo_peers.py).
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"time"

	"google.golang.org/grpc"

	"drover/bench/peers/grpc-go/echo"
)

type echoService struct {
	echo.UnimplementedEchoServer
	busyLoop time.Duration
}

func reply[Message any](service *echoService, request *Message) (*Message, error) {
	if service.busyLoop > 0 {
		for end := time.Now().Add(service.busyLoop); time.Now().Before(end); {
		}
	}
	return request, nil
}

func (s *echoService) Unary(_ context.Context, request *echo.EchoMessage) (*echo.EchoMessage, error) {
	return reply(s, request)
}

func (s *echoService) Small(_ context.Context, request *echo.SmallMessage) (*echo.SmallMessage, error) {
	return reply(s, request)
}

func (s *echoService) Medium(_ context.Context, request *echo.MediumMessage) (*echo.MediumMessage, error) {
	return reply(s, request)
}

func (s *echoService) Large(_ context.Context, request *echo.LargeMessage) (*echo.LargeMessage, error) {
	return reply(s, request)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "grpc_go_server:", err)
	os.Exit(1)
}

// SIGTERM and SIGINT end the process at once: the benchmark stops a server when nothing is in flight.
func main() {
	address := flag.String("address", "127.0.0.1:50051", "`HOST:PORT` to listen on")
	busyLoopNs := flag.Uint64("busy-loop-ns", 0, "nanoseconds that each call spins")
	flag.Parse()

	listener, err := net.Listen("tcp", *address) // its connections have TCP_NODELAY set, as all of Go's
	if err != nil {
		fail(err)
	}
	fmt.Fprintln(os.Stderr, "grpc_go_server listens on", listener.Addr())
	server := grpc.NewServer()
	echo.RegisterEchoServer(server, &echoService{busyLoop: time.Duration(*busyLoopNs)})
	if err := server.Serve(listener); err != nil {
		fail(err)
	}
}
