// The whole decoder: the table of handlers, one for each op of a FieldStep (docs/formats.md) and size of tag, and
// run(). Programs that instantiate Decoder<Memory> include this file.
#pragma once

#include "codec/decode/decode_messages.h"
#include "codec/decode/decode_repeated.h"
#include "codec/decode/decode_scalars.h"
#include "codec/decode/decode_strings.h"
#include "codec/decode/decode_unknown.h"

namespace drover {

template <typename Memory>
struct Decoder<Memory>::HandlerTable {
  struct Table {
    Handler handler[schema::kOpCount * 2];
  };
  template <bool kAlias, int kTagSize>
  static constexpr void fill(Table* table) {
    using namespace schema;  // NOLINT: the ops' names
    Handler* to = table->handler + (kTagSize - 1);
    for (uint32_t op = 0; op < kOpCount; ++op) to[op * 2] = Lookup::find;
    to[kOpInt32 * 2] = Scalars::template varint<kOpInt32, kTagSize>;
    to[kOpUint32 * 2] = Scalars::template varint<kOpUint32, kTagSize>;
    to[kOpVarint64 * 2] = Scalars::template varint<kOpVarint64, kTagSize>;
    to[kOpBool * 2] = Scalars::template varint<kOpBool, kTagSize>;
    to[kOpSint32 * 2] = Scalars::template varint<kOpSint32, kTagSize>;
    to[kOpSint64 * 2] = Scalars::template varint<kOpSint64, kTagSize>;
    to[kOpFixed32 * 2] = Scalars::template fixed<uint32_t, kTagSize>;
    to[kOpFixed64 * 2] = Scalars::template fixed<uint64_t, kTagSize>;
    to[kOpClosedEnum * 2] = Scalars::template closed_enum<kTagSize>;
    to[kOpUtf8 * 2] =
        kAlias ? Strings::template string_aliased<true, kTagSize> : Strings::template string_copied<true, kTagSize>;
    to[kOpBytes * 2] =
        kAlias ? Strings::template string_aliased<false, kTagSize> : Strings::template string_copied<false, kTagSize>;
    to[kOpMessage * 2] = Messages::template sub_message<kTagSize>;
    to[kOpGroup * 2] = Messages::template group<kTagSize>;
    Handler* repeated = to + kOpRepeated * 2;
    repeated[kOpInt32 * 2] = Runs::template repeated_varint<kOpInt32, kTagSize>;
    repeated[kOpUint32 * 2] = Runs::template repeated_varint<kOpUint32, kTagSize>;
    repeated[kOpVarint64 * 2] = Runs::template repeated_varint<kOpVarint64, kTagSize>;
    repeated[kOpBool * 2] = Runs::template repeated_varint<kOpBool, kTagSize>;
    repeated[kOpSint32 * 2] = Runs::template repeated_varint<kOpSint32, kTagSize>;
    repeated[kOpSint64 * 2] = Runs::template repeated_varint<kOpSint64, kTagSize>;
    repeated[kOpFixed32 * 2] = Runs::template repeated_fixed<uint32_t, kTagSize>;
    repeated[kOpFixed64 * 2] = Runs::template repeated_fixed<uint64_t, kTagSize>;
    repeated[kOpClosedEnum * 2] = Runs::template repeated_varint<kOpClosedEnum, kTagSize>;
    repeated[kOpUtf8 * 2] = Runs::template repeated_string<true, kTagSize>;
    repeated[kOpBytes * 2] = Runs::template repeated_string<false, kTagSize>;
    to[(kOpRepeated + kOpMessage) * 2] = Messages::template repeated_message<kTagSize>;
    to[(kOpRepeated + kOpGroup) * 2] = Messages::template repeated_group<kTagSize>;
    to[kOpPacked * 2] = Runs::template packed<kTagSize>;
    to[kOpMap * 2] = Messages::template map<kTagSize>;
    to[kOpGeneric * 2] = Lookup::template by_entry<kTagSize>;
  }
  template <bool kAlias>
  static constexpr Table make_table() {
    Table table{};
    fill<kAlias, 1>(&table);
    fill<kAlias, 2>(&table);
    return table;
  }
  static constexpr bool kAliases = !Memory::kPlacesBytes;  // elsewhere the host cannot reach the wire bytes
  static constexpr Table kTables[2] = {make_table<false>(), make_table<kAliases>()};
#if DROVER_BMI2
  template <int kTagSize>
  static constexpr void fill_bmi2(Table* table) {
    using namespace schema;  // NOLINT: the ops' names
    Handler* to = table->handler + (kTagSize - 1);
    to[kOpInt32 * 2] = Scalars::template varint_bmi2<kOpInt32, kTagSize>;
    to[kOpUint32 * 2] = Scalars::template varint_bmi2<kOpUint32, kTagSize>;
    to[kOpVarint64 * 2] = Scalars::template varint_bmi2<kOpVarint64, kTagSize>;
    to[kOpSint32 * 2] = Scalars::template varint_bmi2<kOpSint32, kTagSize>;
    to[kOpSint64 * 2] = Scalars::template varint_bmi2<kOpSint64, kTagSize>;
  }
  template <bool kAlias>
  static constexpr Table make_bmi2_table() {
    Table table = make_table<kAlias>();
    fill_bmi2<1>(&table);
    fill_bmi2<2>(&table);
    return table;
  }
  static constexpr Table kBmi2Tables[2] = {make_bmi2_table<false>(), make_bmi2_table<kAliases>()};
#endif
  static const Handler* table(bool alias) {
#if DROVER_BMI2
    if (cpu::has_fast_bmi2()) return kBmi2Tables[alias ? 1 : 0].handler;
#endif
    return kTables[alias ? 1 : 0].handler;
  }
};

template <typename Memory>
DecodeResult Decoder<Memory>::run(uint32_t message_index, char* object, const std::string_view* pieces, size_t count,
                                  size_t total) {
  handlers_ = HandlerTable::table(options_.alias);
  min_alias_size_ = options_.min_alias_size == 0 ? 1 : options_.min_alias_size;
  frames_ = top_ = inline_frames_;
  auto limit = static_cast<uint32_t>(options_.depth_limit < 0 ? 0 : options_.depth_limit);
  frames_end_ = frames_ + (limit < Memory::kInlineFrames ? limit : Memory::kInlineFrames);
  const char* p = input_.start(pieces, count, total, options_.terminate_aliases);
  if (options_.pause) [[unlikely]]
    input_.pause_with(options_.pause, options_.slice_bytes, p);
  p = Dispatch::start(this, p, object, image_.message(message_index));
  DecodeResult result;
  if (p != nullptr) [[likely]] {
    *pending_nul_ = '\0';
    result.offset = total;
    return result;
  }
  result.error = input_.stopped() ? DecodeError::kOutOfMemory : error_;
  result.offset = error_offset_;
  if (error_message_ != nullptr) result.message_name = image_.name(error_message_->name);
  result.field_number = error_field_ != 0 ? error_field_ : unknown_number_;
  return result;
}

}  // namespace drover
