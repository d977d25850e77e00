// Runs every fragment that is linked in, and prints what each observed and replied.
#include <algorithm>
#include <iostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "fragment.h"

namespace {

fragments::Request sample() {
  fragments::Request request;
  request.set_id("order-42");
  request.set_name("Ada Lovelace");
  request.set_payload(std::string("\x01\x00\xff bytes", 9));
  for (const char* tag : {"blue", "green", "amber", "green"}) request.add_tags(tag);
  for (int number : {5, 3, 9, 1}) request.add_numbers(number);
  (*request.mutable_labels())["env"] = "prod";
  (*request.mutable_labels())["zone"] = "eu-1";
  (*request.mutable_counts())["seen"] = 7;
  fragments::Item* item = request.mutable_item();
  item->set_sku("sku-1");
  item->set_title("A book");
  item->set_quantity(2);
  item->set_price(9.5);
  item->add_tags("paper");
  item->set_kind(fragments::KIND_BOOK);
  *request.add_items() = request.item();
  request.add_items()->set_sku("sku-0");
  (*request.mutable_shelf())[3] = request.item();
  request.set_text("a choice, of text");
  request.mutable_at()->set_seconds(1700000000);
  request.mutable_detail()->PackFrom(request.item());
  request.mutable_wait()->set_seconds(2);
  return request;
}

// Maps print in any order: every line of the reply's text, sorted.
std::string text_of(const fragments::Reply& reply) {
  std::istringstream text(reply.DebugString());
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  std::string all;
  for (const std::string& line : lines) all += line + "|";
  return all;
}

}  // namespace

int main() {
  for (const auto& [name, fragment] : fragments::all_fragments()) {
    fragments::Request request = sample();
    fragments::Reply reply;
    std::ostringstream out;
    fragment.run(&request, &reply, out);
    std::string observed = out.str();
    std::replace(observed.begin(), observed.end(), '\n', '~');
    std::cout << name << "\t" << observed << "\t" << text_of(reply) << "\n";
  }
}
