// A stock gRPC C++ client of the places example; prints what each of its methods says.
//
//   places_client_grpc ADDRESS
#include <grpcpp/grpcpp.h>

#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "places.grpc.pb.h"

using places::Note;
using places::Place;
using places::Places;
using places::Rectangle;
using places::Spot;
using places::WalkSummary;

namespace {

Spot spot(int east, int north) {
  Spot made;
  made.set_east(east);
  made.set_north(north);
  return made;
}

void look(Places::Stub& stub, int east, int north) {
  grpc::ClientContext context;
  Place place;
  grpc::Status status = stub.Look(&context, spot(east, north), &place);
  std::cout << "look " << (status.ok() ? place.name() : status.error_message()) << "\n";
}

void search(Places::Stub& stub) {
  grpc::ClientContext context;
  Rectangle area;
  *area.mutable_corner() = spot(500, 500);
  *area.mutable_opposite() = spot(-200, -100);
  auto reader = stub.Search(&context, area);
  Place place;
  while (reader->Read(&place)) std::cout << "search " << place.name() << "\n";
  std::cout << "search ends " << reader->Finish().error_code() << "\n";
}

void walk(Places::Stub& stub) {
  grpc::ClientContext context;
  WalkSummary summary;
  auto writer = stub.Walk(&context, &summary);
  for (auto [east, north] : std::vector<std::pair<int, int>>{{0, 0}, {30, 40}, {40, -15}, {40, 85}}) {
    writer->Write(spot(east, north));
  }
  writer->WritesDone();
  grpc::Status status = writer->Finish();
  std::cout << "walk " << status.error_code() << " " << summary.spots() << " spots, " << summary.places() << " places, "
            << static_cast<int>(summary.metres()) << " m\n";
}

// Reads on a thread of its own, as a client of a two-way stream does.
void talk(Places::Stub& stub) {
  grpc::ClientContext context;
  auto stream = stub.Talk(&context);
  std::thread reader([&] {
    Note note;
    while (stream->Read(&note)) std::cout << "talk " << note.text() << "\n";
  });
  for (const char* text : {"first", "second", "third"}) {
    Note note;
    *note.mutable_spot() = spot(7, 7);
    note.set_text(text);
    stream->Write(note);
  }
  stream->WritesDone();
  reader.join();
  std::cout << "talk ends " << stream->Finish().error_code() << "\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: places_client_grpc ADDRESS\n";
    return 2;
  }
  auto stub = Places::NewStub(grpc::CreateChannel(argv[1], grpc::InsecureChannelCredentials()));
  look(*stub, 0, 0);
  look(*stub, 1, 1);
  search(*stub);
  walk(*stub);
  talk(*stub);
  return 0;
}
