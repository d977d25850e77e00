// A guide to a town, with a method of each kind: an ordinary gRPC C++ server in the synchronous API or, with
// --callback, in the callback API. CMakeLists.txt builds it twice, as places_server on Drover and as places_server_grpc
// on gRPC C++.
//
//   places_server [--callback] [ADDRESS]      ADDRESS is 0.0.0.0:50052 unless given
#include <grpcpp/grpcpp.h>

#include <cstring>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "places.grpc.pb.h"
#include "town.h"

using grpc::Status;
using places::Note;
using places::Place;
using places::Places;
using places::Rectangle;
using places::Spot;
using places::WalkSummary;

namespace {

Town town;

const Status& nothing_there() {
  static const Status status(grpc::StatusCode::NOT_FOUND, "there is nothing at this spot");
  return status;
}

class SyncPlaces final : public Places::Service {
  Status Look(grpc::ServerContext*, const Spot* spot, Place* place) override {
    const Place* found = town.at(*spot);
    if (found == nullptr) return nothing_there();
    *place = *found;
    return Status::OK;
  }
  Status Search(grpc::ServerContext*, const Rectangle* area, grpc::ServerWriter<Place>* writer) override {
    for (const Place* place : town.inside(*area)) {
      if (!writer->Write(*place)) return Status::CANCELLED;
    }
    return Status::OK;
  }
  Status Walk(grpc::ServerContext*, grpc::ServerReader<Spot>* reader, WalkSummary* summary) override {
    WalkSoFar walk;
    Spot spot;
    while (reader->Read(&spot)) walk.add(town, spot);
    *summary = walk.summary();
    return Status::OK;
  }
  Status Talk(grpc::ServerContext*, grpc::ServerReaderWriter<Note, Note>* stream) override {
    Note note;
    while (stream->Read(&note)) {
      for (const Note& before : town.leave(note)) {
        if (!stream->Write(before)) return Status::CANCELLED;
      }
    }
    return Status::OK;
  }
};

class CallbackPlaces final : public Places::CallbackService {
  grpc::ServerUnaryReactor* Look(grpc::CallbackServerContext* context, const Spot* spot, Place* place) override {
    const Place* found = town.at(*spot);
    if (found != nullptr) *place = *found;
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(found == nullptr ? nothing_there() : Status::OK);
    return reactor;
  }

  grpc::ServerWriteReactor<Place>* Search(grpc::CallbackServerContext*, const Rectangle* area) override {
    class Searcher final : public grpc::ServerWriteReactor<Place> {
     public:
      explicit Searcher(const Rectangle& wanted) : found_(town.inside(wanted)) { next(); }
      void OnWriteDone(bool ok) override { ok ? next() : Finish(Status::CANCELLED); }
      void OnDone() override { delete this; }

     private:
      void next() {
        if (written_ == found_.size()) return Finish(Status::OK);
        StartWrite(found_[written_++]);
      }
      const std::vector<const Place*> found_;
      size_t written_ = 0;
    };
    return new Searcher(*area);
  }

  grpc::ServerReadReactor<Spot>* Walk(grpc::CallbackServerContext*, WalkSummary* summary) override {
    class Walker final : public grpc::ServerReadReactor<Spot> {
     public:
      explicit Walker(WalkSummary* summary) : summary_(summary) { StartRead(&spot_); }
      void OnReadDone(bool ok) override {
        if (!ok) {
          *summary_ = walk_.summary();
          return Finish(Status::OK);
        }
        walk_.add(town, spot_);
        StartRead(&spot_);
      }
      void OnDone() override { delete this; }

     private:
      WalkSummary* const summary_;
      WalkSoFar walk_;
      Spot spot_;
    };
    return new Walker(summary);
  }

  grpc::ServerBidiReactor<Note, Note>* Talk(grpc::CallbackServerContext*) override {
    class Talker final : public grpc::ServerBidiReactor<Note, Note> {
     public:
      Talker() { StartRead(&note_); }
      void OnReadDone(bool ok) override {
        if (!ok) return Finish(Status::OK);
        before_ = town.leave(note_);
        written_ = 0;
        next();
      }
      void OnWriteDone(bool ok) override { ok ? next() : Finish(Status::CANCELLED); }
      void OnDone() override { delete this; }

     private:
      void next() {
        if (written_ == before_.size()) return StartRead(&note_);
        StartWrite(&before_[written_++]);
      }
      Note note_;
      std::vector<Note> before_;
      size_t written_ = 0;
    };
    return new Talker();
  }
};

}  // namespace

int main(int argc, char** argv) {
  const bool callback = argc > 1 && std::strcmp(argv[1], "--callback") == 0;
  const std::string address = argc > (callback ? 2 : 1) ? argv[argc - 1] : "0.0.0.0:50052";
  SyncPlaces sync_places;
  CallbackPlaces callback_places;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials());
  if (callback) {
    builder.RegisterService(&callback_places);
  } else {
    builder.RegisterService(&sync_places);
  }
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (!server) {
    std::cerr << "cannot listen on " << address << std::endl;
    return 1;
  }
  std::cout << "places listens on " << address << std::endl;
  server->Wait();
  return 0;
}
