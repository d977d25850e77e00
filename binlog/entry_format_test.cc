#include "binlog/entry_format.h"

#include <grpc/binarylog/v1/binarylog.pb.h>
#include <gtest/gtest.h>

namespace drover::binlog {
namespace {

namespace v1 = grpc::binarylog::v1;

TEST(BinlogFormat, FieldsHaveTheNumbersOfTheDefinition) {
  using Entry = v1::GrpcLogEntry;
  EXPECT_EQ(entry::kTimestamp, +Entry::kTimestampFieldNumber);
  EXPECT_EQ(entry::kCallId, +Entry::kCallIdFieldNumber);
  EXPECT_EQ(entry::kSequenceId, +Entry::kSequenceIdWithinCallFieldNumber);
  EXPECT_EQ(entry::kType, +Entry::kTypeFieldNumber);
  EXPECT_EQ(entry::kLogger, +Entry::kLoggerFieldNumber);
  EXPECT_EQ(entry::kClientHeader, +Entry::kClientHeaderFieldNumber);
  EXPECT_EQ(entry::kServerHeader, +Entry::kServerHeaderFieldNumber);
  EXPECT_EQ(entry::kMessage, +Entry::kMessageFieldNumber);
  EXPECT_EQ(entry::kTrailer, +Entry::kTrailerFieldNumber);
  EXPECT_EQ(entry::kPayloadTruncated, +Entry::kPayloadTruncatedFieldNumber);
  EXPECT_EQ(entry::kPeer, +Entry::kPeerFieldNumber);
  EXPECT_EQ(client_header::kMetadata, +v1::ClientHeader::kMetadataFieldNumber);
  EXPECT_EQ(client_header::kMethodName, +v1::ClientHeader::kMethodNameFieldNumber);
  EXPECT_EQ(client_header::kAuthority, +v1::ClientHeader::kAuthorityFieldNumber);
  EXPECT_EQ(client_header::kTimeout, +v1::ClientHeader::kTimeoutFieldNumber);
  EXPECT_EQ(server_header::kMetadata, +v1::ServerHeader::kMetadataFieldNumber);
  EXPECT_EQ(trailer::kMetadata, +v1::Trailer::kMetadataFieldNumber);
  EXPECT_EQ(trailer::kStatusCode, +v1::Trailer::kStatusCodeFieldNumber);
  EXPECT_EQ(trailer::kStatusMessage, +v1::Trailer::kStatusMessageFieldNumber);
  EXPECT_EQ(trailer::kStatusDetails, +v1::Trailer::kStatusDetailsFieldNumber);
  EXPECT_EQ(message::kLength, +v1::Message::kLengthFieldNumber);
  EXPECT_EQ(message::kData, +v1::Message::kDataFieldNumber);
  EXPECT_EQ(metadata::kEntry, +v1::Metadata::kEntryFieldNumber);
  EXPECT_EQ(metadata_entry::kKey, +v1::MetadataEntry::kKeyFieldNumber);
  EXPECT_EQ(metadata_entry::kValue, +v1::MetadataEntry::kValueFieldNumber);
  EXPECT_EQ(address::kType, +v1::Address::kTypeFieldNumber);
  EXPECT_EQ(address::kAddress, +v1::Address::kAddressFieldNumber);
  EXPECT_EQ(address::kIpPort, +v1::Address::kIpPortFieldNumber);
  EXPECT_EQ(time::kSeconds, +google::protobuf::Timestamp::kSecondsFieldNumber);
  EXPECT_EQ(time::kNanos, +google::protobuf::Duration::kNanosFieldNumber);
}

TEST(BinlogFormat, EnumsHaveTheNumbersOfTheDefinition) {
  using Entry = v1::GrpcLogEntry;
  EXPECT_EQ(static_cast<int>(Event::kClientHeader), Entry::EVENT_TYPE_CLIENT_HEADER);
  EXPECT_EQ(static_cast<int>(Event::kServerHeader), Entry::EVENT_TYPE_SERVER_HEADER);
  EXPECT_EQ(static_cast<int>(Event::kClientMessage), Entry::EVENT_TYPE_CLIENT_MESSAGE);
  EXPECT_EQ(static_cast<int>(Event::kServerMessage), Entry::EVENT_TYPE_SERVER_MESSAGE);
  EXPECT_EQ(static_cast<int>(Event::kClientHalfClose), Entry::EVENT_TYPE_CLIENT_HALF_CLOSE);
  EXPECT_EQ(static_cast<int>(Event::kServerTrailer), Entry::EVENT_TYPE_SERVER_TRAILER);
  EXPECT_EQ(static_cast<int>(Event::kCancel), Entry::EVENT_TYPE_CANCEL);
  EXPECT_EQ(static_cast<int>(kLoggerServer), Entry::LOGGER_SERVER);
  EXPECT_EQ(static_cast<int>(AddressType::kIpv4), v1::Address::TYPE_IPV4);
  EXPECT_EQ(static_cast<int>(AddressType::kIpv6), v1::Address::TYPE_IPV6);
  EXPECT_EQ(static_cast<int>(AddressType::kUnix), v1::Address::TYPE_UNIX);
}

TEST(BinlogFormat, VarintsHaveTheirSizes) {
  for (uint64_t value : {uint64_t{0}, uint64_t{127}, uint64_t{128}, uint64_t{16'383}, uint64_t{16'384}, UINT64_MAX}) {
    std::string out;
    append_varint(value, &out);
    EXPECT_EQ(out.size(), varint_size(value)) << value;
  }
}

// Golden bytes of the entry that each writer must make: a half close, then its fields.
TEST(BinlogFormat, AnEntryHasTheseBytes) {
  std::string bytes;
  append_number(entry::kCallId, 300, &bytes);
  append_number(entry::kType, static_cast<uint64_t>(Event::kClientHalfClose), &bytes);
  append_bytes(entry::kPeer, "x", &bytes);
  EXPECT_EQ(bytes, std::string("\x10\xac\x02\x20\x05\x5a\x01x"));
}

}  // namespace
}  // namespace drover::binlog
