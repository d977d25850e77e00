// Handlers: requests checked, replies filled, statuses returned, work handed on.
#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <numeric>
#include <queue>
#include <string>
#include <thread>

#include "fragment.h"

namespace {

using fragments::Item;
using fragments::Reply;
using fragments::Request;
using grpc::Status;
using grpc::StatusCode;

class ShopService final : public fragments::Shop::Service {
 public:
  Status Get(grpc::ServerContext*, const Request* request, Reply* reply) override {
    if (request->id().empty()) return Status(StatusCode::INVALID_ARGUMENT, "id is required");
    if (request->id().find("order-") != 0) {
      return Status(StatusCode::NOT_FOUND, "no order " + request->id());
    }
    reply->set_id(request->id());
    reply->set_message("Hello " + request->name());
    *reply->mutable_item() = request->item();
    return Status::OK;
  }
};

std::string now_as_text() { return "now"; }
bool load(const std::string& key, std::string* value) {
  *value = "value of " + key;
  return true;
}
void fill(Reply& reply, const std::string& id, const std::string& text) {
  reply.set_id(id);
  reply.set_message(text);
}

}  // namespace

FRAGMENT(unary_handler) {
  ShopService service;
  Status status = service.Get(nullptr, request, reply);
  Request empty;
  Reply other;
  out << status.ok() << service.Get(nullptr, &empty, &other).error_message();
  empty.set_id("x");
  out << service.Get(nullptr, &empty, &other).error_message();
}

FRAGMENT(status_with_a_field) {
  Status status(StatusCode::FAILED_PRECONDITION, request->id());
  Status other = Status(StatusCode::ABORTED, request->name() + " gave up");
  out << status.error_message() << other.error_message();
}

FRAGMENT(setters_take_everything) {
  std::string text = "text";
  std::string_view view = "view";
  reply->set_message(text);
  reply->set_message(std::move(text));
  reply->set_message(std::string(view));
  reply->set_message(request->name());
  reply->set_message(view.data(), view.size());
  reply->set_id(request->id() + "/" + now_as_text());
  reply->set_payload(request->payload());
  reply->add_tags("literal");
  reply->add_tags(request->id());
  reply->set_error(std::to_string(request->numbers_size()));
}

FRAGMENT(mutable_string_is_assigned) {
  *reply->mutable_message() = "assigned";
  *reply->mutable_id() = request->id();
  *reply->mutable_payload() = std::string("bytes");
  reply->mutable_message()->append(" and appended");
  reply->mutable_message()->push_back('.');
  *reply->mutable_message() += request->name();
}

FRAGMENT(mutable_string_kept_as_pointer) {
  std::string* message = reply->mutable_message();
  *message = "first";
  message->append(", second");
  out << reply->message() << message->size();
}

FRAGMENT(mutable_string_kept_as_auto) {
  auto message = reply->mutable_message();
  message->assign("first");
  *message += ", second";
  out << reply->message();
}

FRAGMENT(mutable_string_kept_as_auto_pointer) {
  auto* message = reply->mutable_message();
  message->assign("first");
  *message += ", second";
  out << reply->message();
}

FRAGMENT(mutable_string_as_reference) {
  std::string& message = *reply->mutable_message();
  message = "by reference";
  message += "!";
  auto& id = *reply->mutable_id();
  id = "id";
  out << message << id;
}

FRAGMENT(mutable_string_as_output_argument) {
  if (!load(request->id(), reply->mutable_message())) out << "failed";
  out << reply->message();
}

FRAGMENT(mutable_element_as_output_argument) {
  load("tag", reply->add_tags());
  reply->add_tags("second");
  load("other", reply->mutable_tags(1));
}

FRAGMENT(serialized_into_a_field) {
  request->item().SerializeToString(reply->mutable_payload());
  Item item;
  out << item.ParseFromString(reply->payload()) << item.sku();
}

FRAGMENT(getline_into_a_field) {
  std::istringstream lines("one\ntwo");
  std::getline(lines, *reply->mutable_message());
  std::getline(lines, *reply->add_tags());
}

FRAGMENT(added_strings_are_assigned) {
  *reply->add_tags() = "first";
  *reply->add_tags() = request->id();
  std::string* third = reply->add_tags();
  *third = "third";
  *reply->mutable_tags(0) = "changed";
  reply->mutable_tags()->Add("fourth");
  reply->mutable_tags()->Add(std::string("fifth"));
  *reply->mutable_tags()->Add() = "sixth";
}

FRAGMENT(moved_into_setters) {
  std::string large(1000, 'x');
  reply->set_message(std::move(large));
  std::string built;
  built.reserve(100);
  for (const auto& tag : request->tags()) built += tag + ",";
  if (!built.empty()) built.pop_back();
  reply->set_id(std::move(built));
  out << reply->message().size();
}

FRAGMENT(moved_out_of_a_field) {
  Request mine = *request;
  std::string name = std::move(*mine.mutable_name());
  std::string id = *mine.mutable_id();
  out << name << id;
}

FRAGMENT(resized_buffer) {
  reply->mutable_payload()->resize(4);
  std::memcpy(&(*reply->mutable_payload())[0], "abcd", 4);
  out << reply->payload() << reply->mutable_payload()->data()[1];
  reply->mutable_payload()->assign(3, 'z');
  reply->mutable_payload()->insert(0, "<");
}

FRAGMENT(released_and_allocated_strings) {
  Request mine = *request;
  std::unique_ptr<std::string> name(mine.release_name());
  reply->set_allocated_message(name.release());
  reply->set_allocated_id(new std::string(mine.id()));
}

FRAGMENT(thread_with_a_field) {
  std::string seen;
  std::thread worker([&seen](const std::string& name) { seen = "hello " + name; }, request->name());
  worker.join();
  std::thread other([](std::string* to, std::string name) { *to += name; }, &seen, request->id());
  other.join();
  out << seen;
}

FRAGMENT(async_with_a_field) {
  auto length = std::async(std::launch::async, [](const std::string& name) { return name.size(); }, request->name());
  auto later = std::async(std::launch::async, [id = request->id()] { return id + "!"; });
  out << length.get() << later.get();
}

FRAGMENT(bind_with_a_field) {
  auto bound = std::bind([](const std::string& a, const std::string& b) { return a + b; }, request->id(), "!");
  out << bound();
}

FRAGMENT(queue_of_tasks) {
  std::queue<std::function<void()>> tasks;
  for (const auto& tag : request->tags()) tasks.push([tag, &out] { out << tag << ";"; });
  for (; !tasks.empty(); tasks.pop()) tasks.front()();
}

FRAGMENT(queue_of_requests) {
  std::queue<Request> pending;
  pending.push(*request);
  Request next = std::move(pending.front());
  pending.pop();
  std::vector<std::shared_ptr<Request>> shared = {std::make_shared<Request>(next)};
  out << next.id() << shared[0]->name();
}

FRAGMENT(promise_of_a_reply) {
  std::promise<Reply> promise;
  auto future = promise.get_future();
  Reply made;
  made.set_id(request->id());
  promise.set_value(std::move(made));
  *reply = future.get();
}

FRAGMENT(function_that_fills) {
  fill(*reply, request->id(), request->name());
  fill(*reply, "literal", request->id());
}

FRAGMENT(parameter_that_follows_its_field) {
  reply->set_id("before");
  fill(*reply, "after", reply->id());
}

FRAGMENT(oneof_switch) {
  switch (request->choice_case()) {
    case Request::kText:
      reply->set_message(request->text());
      break;
    case Request::kChosen:
      *reply->mutable_item() = request->chosen();
      break;
    case Request::CHOICE_NOT_SET:
    default:
      out << "not set";
  }
}

FRAGMENT(timestamps) {
  auto* at = reply->mutable_item();
  at->set_price(static_cast<double>(request->at().seconds()));
  auto deadline = std::chrono::seconds(request->wait().seconds()) + std::chrono::nanoseconds(request->wait().nanos());
  out << std::chrono::duration_cast<std::chrono::milliseconds>(deadline).count();
}

FRAGMENT(any_details) {
  Item item;
  if (request->detail().Is<Item>() && request->detail().UnpackTo(&item)) out << item.sku();
  reply->mutable_detail()->PackFrom(item);
  out << request->detail().type_url();
  auto url = request->detail().type_url();
  out << url.substr(url.find('/') + 1);
}

FRAGMENT(optional_field) {
  if (!request->has_note()) out << "none";
  std::string note = request->has_note() ? request->note() : std::string("default");
  out << note;
}

FRAGMENT(validation) {
  auto invalid = [&](const std::string& field, const std::string& why) {
    return Status(StatusCode::INVALID_ARGUMENT, field + ": " + why);
  };
  Status status = request->name().size() > 5 ? invalid("name", "'" + request->name() + "' is too long") : Status::OK;
  out << status.error_message();
}

FRAGMENT(copy_from_and_clear) {
  reply->mutable_item()->CopyFrom(request->item());
  reply->mutable_item()->MergeFrom(request->items(1));
  reply->mutable_item()->clear_title();
  Reply second(*reply);
  Reply third = std::move(second);
  third.Swap(reply);
  out << reply->item().sku();
}

FRAGMENT(totals) {
  reply->set_total(std::accumulate(request->numbers().begin(), request->numbers().end(), int64_t{0}));
  double sum = 0;
  for (const auto& item : request->items()) sum += item.quantity() * item.price();
  auto most = std::max_element(request->numbers().begin(), request->numbers().end());
  out << sum << *most << most - request->numbers().begin();
}

FRAGMENT(serialize_and_parse) {
  std::string wire = request->item().SerializeAsString();
  Item item;
  if (!item.ParseFromArray(wire.data(), static_cast<int>(wire.size()))) out << "bad";
  reply->set_payload(wire);
  Item other;
  out << other.ParseFromString(reply->payload()) << other.title() << item.tags(0);
}

FRAGMENT(metadata_of_a_context) {
  grpc::ServerContext context;
  context.AddInitialMetadata("x-id", request->id());
  context.AddTrailingMetadata("x-name-bin", request->payload());
  context.AddTrailingMetadata("x-hello", "hello " + request->name());
  out << "added";
}

FRAGMENT(mutex_and_state) {
  struct State {
    std::mutex mutex;
    std::map<std::string, Request> orders;
  } state;
  {
    std::lock_guard<std::mutex> lock(state.mutex);
    state.orders[request->id()] = *request;
    auto found = state.orders.find(request->id());
    if (found != state.orders.end()) *reply->mutable_item() = found->second.item();
    auto [at, inserted] = state.orders.emplace(request->id(), *request);
    out << inserted << at->first;
  }
  out << state.orders.count(request->id()) << state.orders.erase(request->id());
}

FRAGMENT(struct_of_views) {
  struct Key {
    std::string_view id, name;
    bool operator==(const Key&) const = default;
  };
  Key key{request->id(), request->name()};
  out << (key == Key{request->id(), request->name()}) << key.id;
}
