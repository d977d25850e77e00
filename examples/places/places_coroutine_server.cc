// The guide of places_server.cc as coroutines: Drover's own API for streams, so this builds on Drover alone.
//
//   places_coroutine_server [ADDRESS]      ADDRESS is 0.0.0.0:50052 unless given
#include <drover/stream.h>
#include <grpcpp/grpcpp.h>

#include <iostream>
#include <memory>
#include <string>

#include "places.grpc.pb.h"
#include "town.h"

using drover::StreamTask;
using grpc::Status;
using places::Note;
using places::Place;
using places::Places;
using places::Rectangle;
using places::Spot;
using places::WalkSummary;

namespace {

Town town;

class CoroutinePlaces final : public Places::CallbackService {
  grpc::ServerUnaryReactor* Look(grpc::CallbackServerContext* context, const Spot* spot, Place* place) override {
    const Place* found = town.at(*spot);
    if (found != nullptr) *place = *found;
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(found == nullptr ? Status(grpc::StatusCode::NOT_FOUND, "there is nothing at this spot")
                                     : Status::OK);
    return reactor;
  }

  grpc::ServerWriteReactor<Place>* Search(grpc::CallbackServerContext* context, const Rectangle* area) override {
    using Found = drover::ReplyStream<Place>;
    return drover::serve<Found>(context, [area](Found& found) -> StreamTask {
      for (const Place* place : town.inside(*area)) {
        if (!co_await found.Write(*place)) co_return Status::CANCELLED;
      }
      co_return Status::OK;
    });
  }

  grpc::ServerReadReactor<Spot>* Walk(grpc::CallbackServerContext* context, WalkSummary* summary) override {
    using Spots = drover::RequestStream<Spot>;
    return drover::serve<Spots>(context, [summary](Spots& spots) -> StreamTask {
      WalkSoFar walk;
      while (const Spot* spot = co_await spots.Read()) walk.add(town, *spot);
      *summary = walk.summary();
      co_return Status::OK;
    });
  }

  grpc::ServerBidiReactor<Note, Note>* Talk(grpc::CallbackServerContext* context) override {
    using Notes = drover::BidiStream<Note, Note>;
    return drover::serve<Notes>(context, [](Notes& notes) -> StreamTask {
      while (const Note* note = co_await notes.Read()) {
        for (const Note& before : town.leave(*note)) {
          if (!co_await notes.Write(before)) co_return Status::CANCELLED;
        }
      }
      co_return Status::OK;
    });
  }
};

}  // namespace

int main(int argc, char** argv) {
  const std::string address = argc > 1 ? argv[1] : "0.0.0.0:50052";
  CoroutinePlaces service;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials());
  builder.RegisterService(&service);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (!server) {
    std::cerr << "cannot listen on " << address << std::endl;
    return 1;
  }
  std::cout << "places listens on " << address << std::endl;
  server->Wait();
  return 0;
}
