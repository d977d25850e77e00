// Repeated fields and maps: iterated, copied, assigned, standing alone, and as keys and values of caches.
#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>
#include <absl/hash/hash.h>
#include <google/protobuf/map.h>
#include <google/protobuf/repeated_field.h>

#include <algorithm>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "fragment.h"

namespace {

using fragments::Item;
using fragments::Reply;
using fragments::Request;

template <typename T>
std::vector<T> to_vector(const google::protobuf::RepeatedPtrField<T>& field) {
  return std::vector<T>(field.begin(), field.end());
}
template <typename T>
std::vector<T> numbers_to_vector(const google::protobuf::RepeatedField<T>& field) {
  return std::vector<T>(field.begin(), field.end());
}
template <typename K, typename V>
std::map<K, V> sorted(const google::protobuf::Map<K, V>& map) {
  return std::map<K, V>(map.begin(), map.end());
}
size_t total(const google::protobuf::RepeatedPtrField<std::string>& tags) {
  size_t size = 0;
  for (const auto& tag : tags) size += tag.size();
  return size;
}

template <typename Key, typename Value>
class Cache {
 public:
  void put(const Key& key, Value value) { values_[key] = std::move(value); }
  const Value* get(const Key& key) const {
    auto found = values_.find(key);
    return found == values_.end() ? nullptr : &found->second;
  }

 private:
  std::unordered_map<Key, Value> values_;
};

}  // namespace

FRAGMENT(cache_by_id) {
  Cache<std::string, Item> cache;
  cache.put(request->id(), request->item());
  const Item* found = cache.get(request->id());
  out << (found != nullptr ? found->title() : "missing") << (cache.get("x") == nullptr);
}

FRAGMENT(std_map_keys) {
  std::map<std::string, int> counts;
  counts[request->id()]++;
  ++counts[request->name()];
  counts.insert({request->id(), 5});
  counts.insert(std::make_pair(request->tags(0), 1));
  counts.emplace(request->tags(1), 2);
  counts.try_emplace(request->tags(2), 3);
  counts.insert_or_assign(request->tags(2), 4);
  for (const auto& tag : request->tags()) counts[tag] += 10;
  for (const auto& [name, count] : counts) out << name << count << ",";
}

FRAGMENT(unordered_map_keys) {
  std::unordered_map<std::string, std::string> names;
  names[request->id()] = request->name();
  names.emplace(request->name(), request->id());
  auto found = names.find(request->id());
  out << (found != names.end()) << found->second << names.at(request->name()) << names.count("x");
  names.erase(request->id());
  out << names.size() << names.contains(request->name());
}

FRAGMENT(sets_of_tags) {
  std::set<std::string> unique(request->tags().begin(), request->tags().end());
  std::unordered_set<std::string> seen;
  for (const auto& tag : request->tags()) {
    if (!seen.insert(tag).second) out << "again " << tag;
  }
  out << unique.size() << seen.count(request->tags(0)) << unique.contains(request->tags(1));
}

FRAGMENT(flat_hash_map_keys) {
  absl::flat_hash_map<std::string, int> counts;
  for (const auto& tag : request->tags()) ++counts[tag];
  counts.insert({request->id(), 1});
  counts.try_emplace(request->name(), 2);
  auto found = counts.find(request->id());
  out << counts["green"] << (found != counts.end()) << counts.contains(request->name()) << counts.at("blue");
}

FRAGMENT(flat_hash_set_of_tags) {
  absl::flat_hash_set<std::string> tags(request->tags().begin(), request->tags().end());
  absl::flat_hash_set<absl::string_view> views;
  for (const auto& tag : request->tags()) views.insert(tag);
  out << tags.size() << views.size() << tags.contains(request->tags(0));
}

FRAGMENT(hashes) {
  std::string id = request->id();
  out << (std::hash<std::string>()(request->id()) == std::hash<std::string>()(id))
      << (absl::Hash<std::string>()(request->id()) == absl::Hash<std::string>()(id))
      << (absl::HashOf(request->id(), 1) == absl::HashOf(id, 1));
}

FRAGMENT(map_with_transparent_keys) {
  std::map<std::string, int, std::less<>> names = {{"order-42", 1}};
  auto found = names.find(request->id());
  out << (found == names.end() ? 0 : found->second);
}

FRAGMENT(vector_of_tags) {
  std::vector<std::string> tags(request->tags().begin(), request->tags().end());
  std::vector<std::string> more = {request->tags().begin(), request->tags().end()};
  tags.insert(tags.end(), request->tags().begin(), request->tags().end());
  tags.assign(request->tags().begin(), request->tags().end());
  std::copy(request->tags().begin(), request->tags().end(), std::back_inserter(tags));
  std::sort(tags.begin(), tags.end());
  out << tags.size() << tags[0] << more.size();
}

FRAGMENT(vector_from_templates) {
  for (const auto& tag : to_vector(request->tags())) out << tag;
  for (const auto& item : to_vector(request->items())) out << item.sku();
  for (int number : numbers_to_vector(request->numbers())) out << number;
  for (const auto& [key, value] : sorted(request->counts())) out << key << value;
}

FRAGMENT(field_as_parameter) { out << total(request->tags()) << total(request->item().tags()); }

FRAGMENT(tags_from_a_vector) {
  std::vector<std::string> tags = {"one", "two"};
  *reply->mutable_tags() = {tags.begin(), tags.end()};
  reply->mutable_tags()->Add(tags.begin(), tags.end());
  reply->mutable_numbers()->Add(request->numbers().begin(), request->numbers().end());
}

FRAGMENT(tags_assigned) {
  std::vector<std::string> tags = {"one", "two"};
  reply->mutable_tags()->Assign(tags.begin(), tags.end());
  *reply->mutable_numbers() = {tags.size() > 1 ? request->numbers().begin() : request->numbers().end(),
                               request->numbers().end()};
  reply->mutable_items()->CopyFrom(request->items());
  *reply->mutable_tags() = request->tags();
}

FRAGMENT(back_inserters) {
  std::copy(request->tags().begin(), request->tags().end(),
            google::protobuf::RepeatedFieldBackInserter(reply->mutable_tags()));
  std::copy_if(request->numbers().begin(), request->numbers().end(),
               google::protobuf::RepeatedFieldBackInserter(reply->mutable_numbers()), [](int n) { return n > 2; });
  std::transform(request->items().begin(), request->items().end(),
                 google::protobuf::RepeatedPtrFieldBackInserter(reply->mutable_tags()),
                 [](const Item& item) { return item.sku(); });
}

FRAGMENT(find_in_tags) {
  auto found = std::find(request->tags().begin(), request->tags().end(), "green");
  auto by = std::find_if(request->items().begin(), request->items().end(),
                         [&](const Item& item) { return item.sku() == "sku-0"; });
  out << (found != request->tags().end()) << found - request->tags().begin() << by->sku()
      << std::count(request->tags().begin(), request->tags().end(), request->tags(1))
      << std::any_of(request->tags().begin(), request->tags().end(), [](const auto& t) { return t == "amber"; });
}

FRAGMENT(sort_and_unique) {
  *reply->mutable_tags() = request->tags();
  std::sort(reply->mutable_tags()->begin(), reply->mutable_tags()->end());
  auto end = std::unique(reply->mutable_tags()->begin(), reply->mutable_tags()->end());
  reply->mutable_tags()->erase(end, reply->mutable_tags()->end());
  *reply->mutable_numbers() = request->numbers();
  std::sort(reply->mutable_numbers()->begin(), reply->mutable_numbers()->end(), std::greater<int>());
}

FRAGMENT(sort_messages) {
  *reply->mutable_items() = request->items();
  std::sort(reply->mutable_items()->begin(), reply->mutable_items()->end(),
            [](const Item& a, const Item& b) { return a.sku() < b.sku(); });
  std::reverse(reply->mutable_tags()->begin(), reply->mutable_tags()->end());
}

FRAGMENT(erase_remove_tags) {
  *reply->mutable_tags() = request->tags();
  auto* tags = reply->mutable_tags();
  tags->erase(std::remove_if(tags->begin(), tags->end(), [](const std::string& tag) { return tag == "green"; }),
              tags->end());
}

FRAGMENT(change_in_loop) {
  *reply->mutable_tags() = request->tags();
  for (auto& tag : *reply->mutable_tags()) tag += "!";
  for (std::string& tag : *reply->mutable_tags()) tag.insert(0, ">");
  for (auto& item : *reply->mutable_items()) item.set_quantity(0);
}

FRAGMENT(labels_by_key) {
  auto found = request->labels().find("env");
  if (found != request->labels().end()) out << found->first << "=" << found->second;
  out << request->labels().at("zone") << request->labels().count("x") << request->labels().contains("env");
  std::string key = "env";
  out << request->labels().at(key) << request->counts().at("seen");
}

FRAGMENT(labels_set) {
  (*reply->mutable_labels())["id"] = request->id();
  (*reply->mutable_labels())[request->name()] = "name";
  auto& labels = *reply->mutable_labels();
  labels["literal"] = "x";
  labels.insert({"pair", "braces"});
  labels.insert({request->id(), request->name()});
  labels.emplace("emplaced", request->id());
  reply->mutable_counts()->insert({"n", 1});
  ++(*reply->mutable_counts())["n"];
  (*reply->mutable_counts())[request->id()] += 2;
}

FRAGMENT(label_as_reference) {
  std::string& value = (*reply->mutable_labels())["key"];
  value = "by reference";
  value += "!";
  out << reply->labels().at("key");
}

FRAGMENT(label_as_auto_reference) {
  auto& value = (*reply->mutable_labels())["key"];
  if (value.empty()) value = "filled";
  out << value;
}

FRAGMENT(labels_iterated) {
  std::map<std::string, std::string> all;
  for (const auto& label : request->labels()) all[label.first] = label.second;
  for (const auto& [key, value] : request->labels()) all[key + "2"] = value;
  for (auto& [key, value] : *reply->mutable_labels()) value += key;
  for (const auto& [key, value] : all) out << key << value;
}

FRAGMENT(labels_iterated_by_value) {
  std::map<std::string, std::string> all;
  for (auto label : request->labels()) all.insert(label);
  for (auto [key, value] : request->labels()) all[key] += value;
  for (const auto& [key, value] : all) out << key << value;
}

FRAGMENT(labels_iterated_by_pair) {
  size_t size = 0;
  for (const std::pair<const std::string, std::string>& label : request->labels()) size += label.second.size();
  for (const google::protobuf::MapPair<std::string, int64_t>& count : request->counts()) size += count.first.size();
  out << size;
}

FRAGMENT(labels_copied) {
  *reply->mutable_labels() = request->labels();
  reply->mutable_labels()->insert(request->labels().begin(), request->labels().end());
  std::map<std::string, std::string> copy(request->labels().begin(), request->labels().end());
  std::unordered_map<std::string, int64_t> counts(request->counts().begin(), request->counts().end());
  reply->mutable_labels()->insert(copy.begin(), copy.end());
  out << copy.size() << counts.at("seen");
}

FRAGMENT(labels_from_a_map) {
  std::map<std::string, std::string> labels = {{"a", "1"}, {"b", "2"}};
  *reply->mutable_labels() = {labels.begin(), labels.end()};
}

FRAGMENT(shelf_of_messages) {
  (*reply->mutable_shelf())[1] = request->item();
  (*reply->mutable_shelf())[2].set_sku("two");
  Item* third = &(*reply->mutable_shelf())[3];
  third->set_sku("three");
  for (auto& [number, item] : *reply->mutable_shelf()) item.set_quantity(number);
  out << request->shelf().at(3).title() << request->shelf().count(4);
}

FRAGMENT(shelf_find_or_default) {
  auto find = [](const auto& map, const auto& key) -> const Item& {
    auto found = map.find(key);
    return found == map.end() ? Item::default_instance() : found->second;
  };
  out << find(request->shelf(), 3).title() << find(request->shelf(), 9).title().empty();
}

FRAGMENT(standalone_tags) {
  google::protobuf::RepeatedPtrField<std::string> tags;
  tags.Add("one");
  *tags.Add() = "two";
  google::protobuf::RepeatedPtrField<std::string> copy = tags;
  copy.Add(std::string("three"));
  reply->mutable_tags()->Swap(&copy);
  out << tags.size() << copy.size();
}

FRAGMENT(standalone_from_iterators) {
  google::protobuf::RepeatedPtrField<std::string> tags(request->tags().begin(), request->tags().end());
  google::protobuf::RepeatedField<int> numbers(request->numbers().begin(), request->numbers().end());
  numbers.Add(6);
  *reply->mutable_tags() = std::move(tags);
  reply->mutable_numbers()->MergeFrom(numbers);
}

FRAGMENT(standalone_numbers) {
  google::protobuf::RepeatedField<int> numbers;
  for (int i = 1; i < 4; ++i) numbers.Add(i);
  numbers.Add(4);
  google::protobuf::RepeatedField<int> moved = std::move(numbers);
  *reply->mutable_numbers() = moved;
  out << moved.size();
}

FRAGMENT(standalone_messages) {
  google::protobuf::RepeatedPtrField<Item> items;
  items.Add()->set_sku("first");
  *items.Add() = request->item();
  items.Add(Item(request->item()));
  *reply->mutable_items() = std::move(items);
}

FRAGMENT(standalone_map) {
  google::protobuf::Map<std::string, std::string> labels;
  labels["a"] = "1";
  labels.insert({"b", "2"});
  google::protobuf::Map<std::string, std::string> copy = labels;
  copy["c"] = request->id();
  *reply->mutable_labels() = copy;
  out << labels.size() << copy.size();
}

FRAGMENT(copy_of_a_field) {
  auto tags = request->tags();
  tags.Add("more");
  auto labels = request->labels();
  labels["more"] = "x";
  auto items = request->items();
  items.RemoveLast();
  out << tags.size() << labels.size() << items.size() << request->tags_size();
}

FRAGMENT(vector_of_messages) {
  std::vector<Item> items(request->items().begin(), request->items().end());
  items.push_back(request->item());
  items.emplace_back().set_sku("emplaced");
  std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) { return a.sku() < b.sku(); });
  for (const auto& item : items) out << item.sku();
}

FRAGMENT(stable_element_pointers) {
  std::vector<Item*> items;
  for (int i = 0; i < 20; ++i) items.push_back(reply->add_items());
  for (int i = 0; i < 20; ++i) items[static_cast<size_t>(i)]->set_quantity(i);
  std::string* first = reply->add_tags();
  for (int i = 0; i < 20; ++i) reply->add_tags("x");
  *first = "first";
  out << reply->tags(0);
}

FRAGMENT(list_and_index) {
  for (int i = 0; i < request->tags_size(); ++i)
    out << request->tags(i) << request->tags().Get(i) << request->tags()[i];
  out << *request->tags().begin() << *request->tags().rbegin() << request->tags().at(1) << request->tags().empty();
}

FRAGMENT(delete_subrange) {
  *reply->mutable_tags() = request->tags();
  reply->mutable_tags()->DeleteSubrange(1, 2);
  reply->mutable_tags()->SwapElements(0, 1);
  reply->mutable_tags()->RemoveLast();
  reply->mutable_numbers()->Reserve(8);
  reply->mutable_numbers()->Resize(3, 7);
}

FRAGMENT(multimap_of_items) {
  std::multimap<std::string, Item> by_title;
  for (const auto& item : request->items()) by_title.emplace(item.title(), item);
  std::list<std::string> titles;
  for (const auto& [title, item] : by_title) titles.push_back(title + item.sku());
  out << titles.front() << titles.size();
}
