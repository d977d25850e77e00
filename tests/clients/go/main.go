// The stock gRPC client for Go against drover.testing.TestService:
//
//	go_client ADDRESS DESCRIPTORS CALLS     prints "N passed, M failed"
//
// DESCRIPTORS: a FileDescriptorSet of testing.proto and what it imports. The messages are dynamic ones.
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

const service = "drover.testing.TestService"

type tester struct {
	connection *grpc.ClientConn
	methods    protoreflect.MethodDescriptors
	mutex      sync.Mutex
	passed     int
	failed     int
}

func (t *tester) check(what string, good bool) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if good {
		t.passed++
		return
	}
	t.failed++
	fmt.Fprintln(os.Stderr, "failed:", what)
}

// call sets the request's fields by name, and returns the reply.
func (t *tester) call(ctx context.Context, method string, fields map[string]any, options ...grpc.CallOption) (
	*dynamicpb.Message, error) {
	descriptor := t.methods.ByName(protoreflect.Name(method))
	request := dynamicpb.NewMessage(descriptor.Input())
	for name, value := range fields {
		field := descriptor.Input().Fields().ByName(protoreflect.Name(name))
		request.Set(field, protoreflect.ValueOf(value))
	}
	reply := dynamicpb.NewMessage(descriptor.Output())
	return reply, t.connection.Invoke(ctx, "/"+service+"/"+method, request, reply, options...)
}

func get(message *dynamicpb.Message, name string) protoreflect.Value {
	return message.Get(message.Descriptor().Fields().ByName(protoreflect.Name(name)))
}

func (t *tester) echo(i int) {
	size := (i * 977) % 70000
	if i%50 == 0 {
		size = 1_000_000 // several frames, and more than the first windows
	}
	payload := bytes.Repeat([]byte{byte(i)}, size)
	text := fmt.Sprint("call ", i)
	// A deadline makes the header block another one each time.
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	reply, err := t.call(ctx, "Echo", map[string]any{"payload": payload, "text": text})
	good := err == nil && bytes.Equal(get(reply, "payload").Bytes(), payload) && get(reply, "text").String() == text
	t.check(fmt.Sprint("echo ", i, " ", err), good)
}

func (t *tester) fails() {
	_, err := t.call(context.Background(), "Fail", map[string]any{"code": int32(5), "message": "nicht da: ü"})
	t.check("fail", status.Code(err) == codes.NotFound && status.Convert(err).Message() == "nicht da: ü")
}

func (t *tester) deadline() {
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	_, err := t.call(ctx, "Sleep", map[string]any{"millis": int64(10000)})
	t.check("deadline", status.Code(err) == codes.DeadlineExceeded)
}

func (t *tester) cancels() {
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(100*time.Millisecond, cancel)
	_, err := t.call(ctx, "Sleep", map[string]any{"millis": int64(10000)})
	t.check("cancel", status.Code(err) == codes.Canceled)
}

func (t *tester) metadata() {
	ctx := metadata.AppendToOutgoingContext(context.Background(), "x-go", "yes", "x-go-bin", "\x00\xff")
	reply, err := t.call(ctx, "Metadata", nil)
	found := 0
	if err == nil {
		received := get(reply, "received").List()
		for i := range received.Len() {
			pair := received.Get(i).Message().Interface().(*dynamicpb.Message)
			key, value := get(pair, "key").String(), string(get(pair, "value").Bytes())
			if (key == "x-go" && value == "yes") || (key == "x-go-bin" && value == "\x00\xff") {
				found++
			}
		}
	}
	t.check(fmt.Sprint("metadata ", err), found == 2)
}

func load(file string) (protoreflect.ServiceDescriptor, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(content, &set); err != nil {
		return nil, err
	}
	files, err := protodesc.NewFiles(&set)
	if err != nil {
		return nil, err
	}
	descriptor, err := files.FindDescriptorByName(service)
	if err != nil {
		return nil, err
	}
	return descriptor.(protoreflect.ServiceDescriptor), nil
}

func run(address, descriptors string, calls int) (*tester, error) {
	descriptor, err := load(descriptors)
	if err != nil {
		return nil, err
	}
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	t := &tester{connection: connection, methods: descriptor.Methods()}
	var group sync.WaitGroup
	for _, work := range []func(){t.fails, t.deadline, t.cancels, t.metadata} {
		group.Go(work)
	}
	for i := range calls {
		group.Go(func() { t.echo(i) })
	}
	group.Wait()
	return t, nil
}

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: go_client ADDRESS DESCRIPTORS CALLS")
		os.Exit(2)
	}
	calls, err := strconv.Atoi(os.Args[3])
	if err == nil {
		var t *tester
		if t, err = run(os.Args[1], os.Args[2], calls); err == nil {
			fmt.Printf("%d passed, %d failed\n", t.passed, t.failed)
			if t.failed == 0 {
				return
			}
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(1)
}
