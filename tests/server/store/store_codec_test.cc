// The codec against the generated classes of fact.proto, and against bytes that nobody wrote.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <set>

#include "core/limits.h"
#include "core/stored_size.h"
#include "server/codec/codec.h"
#include "server/codec/wire.h"
#include "subak/fact/v1/fact.pb.h"
#include "tests/server/store/support/pack_facts.h"
#include "tests/server/store/support/store_random_fact.h"

namespace subak {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr std::size_t kKinds = std::variant_size_v<fact::Kinds>;

// "job_created" -> JobCreated
std::string message_name(std::string_view kind) {
  std::string out;
  bool upper = true;
  for (const char c : kind) {
    if (c != '_') out += upper ? static_cast<char>(std::toupper(c)) : c;
    upper = c == '_';
  }
  return out;
}

const Descriptor* descriptor_of(const fact::Body& body) {
  const auto kind = std::visit([](const auto& record) { return record.kName; }, body);
  const auto* file = ::subak::fact::v1::ClusterSet::descriptor()->file();
  return file->FindMessageTypeByName(message_name(kind));
}

std::unique_ptr<Message> new_message(const Descriptor* type) {
  auto* factory = google::protobuf::MessageFactory::generated_factory();
  return std::unique_ptr<Message>(factory->GetPrototype(type)->New());
}

// Compares the field list of a record with a message: numbers, names, types, nothing missing.
struct Compare {
  const Descriptor* message;
  std::set<int> seen = {};

  template <class T>
  void operator()(int number, std::string_view name, T&) {
    const std::string where = message->name() + "." + std::string(name);
    const FieldDescriptor* field = message->FindFieldByNumber(number);
    ASSERT_NE(field, nullptr) << where;
    EXPECT_TRUE(seen.insert(number).second) << where;
    EXPECT_EQ(field->name(), name) << where;
    EXPECT_EQ(field->is_repeated(), IsVector<T>) << where;
    if constexpr (IsVector<T>) {
      check<typename T::value_type>(field, where);
    } else {
      check<T>(field, where);
    }
  }

  template <class T>
  static void check(const FieldDescriptor* field, const std::string& where) {
    EXPECT_EQ(field->type(), type_of<T>()) << where;
    if constexpr (std::is_enum_v<T>) {
      ASSERT_NE(field->enum_type(), nullptr);
      check_enum<T>(*field->enum_type());
    } else if constexpr (type_of<T>() == FieldDescriptor::TYPE_MESSAGE) {
      ASSERT_NE(field->message_type(), nullptr);
      Compare nested{field->message_type()};
      T record{};
      record.fields(nested);
      nested.finish();
    }
  }

  // The values are spelled alike: "target-share" is ORDER_POLICY_TARGET_SHARE.
  template <class T>
  static void check_enum(const google::protobuf::EnumDescriptor& type) {
    ASSERT_EQ(static_cast<std::size_t>(type.value_count()), EnumText<T>::names.size());
    for (int i = 0; i < type.value_count(); ++i) {
      std::string want(EnumText<T>::names[static_cast<std::size_t>(i)]);
      std::transform(want.begin(), want.end(), want.begin(),
                     [](char c) { return c == '-' ? '_' : static_cast<char>(std::toupper(c)); });
      const auto* value = type.FindValueByNumber(i);
      ASSERT_NE(value, nullptr);
      EXPECT_TRUE(value->name().ends_with("_" + want)) << value->name() << " " << want;
    }
  }

  template <class T>
  static constexpr FieldDescriptor::Type type_of() {
    if constexpr (std::same_as<T, bool>) return FieldDescriptor::TYPE_BOOL;
    if constexpr (std::same_as<T, std::string>) return FieldDescriptor::TYPE_STRING;
    if constexpr (std::same_as<T, double>) return FieldDescriptor::TYPE_DOUBLE;
    if constexpr (std::is_enum_v<T>) return FieldDescriptor::TYPE_ENUM;
    if constexpr (IsSmallId<T>) return FieldDescriptor::TYPE_UINT32;
    if constexpr (std::same_as<T, JobId>) return FieldDescriptor::TYPE_UINT64;
    if constexpr (std::same_as<T, std::int32_t>) return FieldDescriptor::TYPE_INT32;
    if constexpr (std::same_as<T, std::int64_t>) return FieldDescriptor::TYPE_INT64;
    if constexpr (std::same_as<T, std::uint32_t>) return FieldDescriptor::TYPE_UINT32;
    if constexpr (std::same_as<T, std::uint64_t>) return FieldDescriptor::TYPE_UINT64;
    return FieldDescriptor::TYPE_MESSAGE;
  }

  void finish() const {
    EXPECT_EQ(static_cast<int>(seen.size()), message->field_count()) << message->full_name();
  }
};

TEST(Codec, FieldListsAreThoseOfTheProto) {
  RandomFill random(1);
  for (std::size_t i = 0; i < kKinds; ++i) {
    Fact fact = random.fact(i);
    const Descriptor* type = descriptor_of(fact.body);
    ASSERT_NE(type, nullptr) << i;
    Compare compare{type};
    std::visit([&](auto& record) { record.fields(compare); }, fact.body);
    compare.finish();
  }
}

TEST(Codec, BytesAreThoseOfTheGeneratedClasses) {
  RandomFill random(2);
  for (std::size_t round = 0; round < 400; ++round) {
    for (std::size_t i = 0; i < kKinds; ++i) {
      const Fact fact = random.fact(i);
      std::string bytes;
      ASSERT_TRUE(codec::encode(fact.body, bytes));
      const auto message = new_message(descriptor_of(fact.body));
      ASSERT_TRUE(message->ParseFromString(bytes)) << i;
      ASSERT_EQ(message->SerializeAsString(), bytes) << i << message->DebugString();
      const auto back = codec::decode(codec::kind_of(fact.body), message->SerializeAsString());
      ASSERT_TRUE(back.ok()) << back.error().message();
      const auto text = [](const auto& record) { return to_text(record); };
      ASSERT_EQ(std::visit(text, *back), std::visit(text, fact.body)) << i;
    }
  }
}

// The core's limits in bytes hold only if it knows what a record will take.
TEST(Codec, BytesAreNeverMoreThanTheCoreReckonsWith) {
  RandomFill random(5);
  std::size_t exact = 0, all = 0;
  for (std::size_t round = 0; round < 300; ++round) {
    for (std::size_t i = 0; i < kKinds; ++i) {
      const Fact fact = random.fact(i);
      std::string bytes;
      ASSERT_TRUE(codec::encode(fact.body, bytes));
      const std::size_t reckoned =
          std::visit([](const auto& record) { return stored_bytes(record); }, fact.body);
      ASSERT_GE(reckoned, bytes.size()) << fact_to_text(fact);
      ++all;
      exact += reckoned == bytes.size() ? 1 : 0;
    }
  }
  EXPECT_GT(exact, all / 4) << "it reckons with far too much";
}

// At the last byte it is written and read, at the next it is neither.
TEST(Codec, EncodeNeverMakesWhatDecodeRefuses) {
  fact::EditRefused large;
  large.error.assign(limits::kMaxFactBytes - 5, 'x');  // and its tag and length
  std::string bytes = "before";
  ASSERT_TRUE(codec::encode(large, bytes));
  ASSERT_EQ(bytes.size(), 6 + limits::kMaxFactBytes);
  EXPECT_TRUE(codec::decode(8, std::string_view(bytes).substr(6)).ok());
  large.error += 'x';
  bytes = "before";
  EXPECT_FALSE(codec::encode(large, bytes));
  EXPECT_EQ(bytes, "before");
  EXPECT_EQ(
      codec::refusal(large, 1).message(),
      "edit_refused: was \"16777219 bytes\", want at most 16777216 bytes, which is all that can be "
      "read again");
  PackedFacts packed;
  EXPECT_FALSE(packed.add({0, 1, large}));
  EXPECT_EQ(packed.size(), 0u);
}

TEST(Codec, ZeroIsKeptWhereTheDefaultIsNot) {
  fact::AccountSet account;
  account.spec.shares = 0;
  fact::PolicySet policy;
  policy.policy = Policy{};
  policy.policy.half_life_ms = 0;
  policy.policy.tick.charge_end = false;
  fact::NodeSet node;
  node.spec.ready = false;
  std::string bytes;
  ASSERT_TRUE(codec::encode(account, bytes));
  EXPECT_EQ(std::get<fact::AccountSet>(*codec::decode(6, bytes)).spec.shares, 0);
  bytes.clear();
  ASSERT_TRUE(codec::encode(policy, bytes));
  EXPECT_EQ(std::get<fact::PolicySet>(*codec::decode(5, bytes)).policy, policy.policy);
  bytes.clear();
  ASSERT_TRUE(codec::encode(node, bytes));
  EXPECT_FALSE(std::get<fact::NodeSet>(*codec::decode(3, bytes)).spec.ready);
  EXPECT_TRUE(std::get<fact::NodeSet>(*codec::decode(3, "")).spec.ready);
}

// Whatever its type, a field that is not known would be lost by the next checkpoint.
TEST(Codec, UnknownFieldsOfEveryWireTypeAreRefusedWithTheirPlace) {
  using codec::WireFormatLite;
  const std::array<std::pair<WireFormatLite::WireType, std::string>, 4> kinds{
      {{WireFormatLite::WIRETYPE_VARINT, "\1"},
       {WireFormatLite::WIRETYPE_LENGTH_DELIMITED, "\3abc"},
       {WireFormatLite::WIRETYPE_FIXED64, "12345678"},
       {WireFormatLite::WIRETYPE_FIXED32, "1234"}}};
  for (const auto& [type, value] : kinds) {
    fact::PodRunning known;
    known.job = JobId(7);
    std::string bytes;
    ASSERT_TRUE(codec::encode(known, bytes));
    ASSERT_TRUE(codec::decode(codec::kind_of(known), bytes).ok());
    codec::put_tag(bytes, 900, type);
    const auto back = codec::decode(codec::kind_of(known), bytes + value);
    ASSERT_FALSE(back.ok());
    EXPECT_EQ(back.error().message(),
              "pod_running: was \"field 900\", want the fields and values of fact version 1, which "
              "is all that this program knows");
  }
}

TEST(Codec, UnknownKindIsAnError) {
  EXPECT_FALSE(codec::decode(0, "").ok());
  EXPECT_TRUE(codec::decode(1, "").ok());
  EXPECT_TRUE(codec::decode(kKinds, "").ok());
  EXPECT_FALSE(codec::decode(kKinds + 1, "").ok());
}

TEST(Codec, UnknownEnumValueIsAnError) {
  std::string bytes;
  codec::put_tag(bytes, 2, codec::WireFormatLite::WIRETYPE_VARINT);
  codec::put_varint(bytes, EnumText<JobState>::names.size());
  const auto back = codec::decode(11, bytes);
  ASSERT_FALSE(back.ok());
  EXPECT_EQ(back.error().field, "job_moved.to");
  EXPECT_EQ(back.error().got, "value " + std::to_string(EnumText<JobState>::names.size()));
}

TEST(Codec, NumbersOutOfRangeAreErrors) {
  std::string bytes;
  codec::put_tag(bytes, 1, codec::WireFormatLite::WIRETYPE_VARINT);
  codec::put_varint(bytes, 1u << 16);  // a cluster id has 16 bits
  EXPECT_FALSE(codec::decode(1, bytes).ok());
  EXPECT_TRUE(codec::decode(4, bytes).ok());  // a node id has 32
  bytes.clear();
  codec::put_tag(bytes, 8, codec::WireFormatLite::WIRETYPE_VARINT);
  codec::put_varint(bytes, std::uint64_t{1} << 31);  // priority is an int32
  EXPECT_FALSE(codec::decode(9, bytes).ok());
}

TEST(Codec, WrongWireTypeIsAnError) {
  std::string bytes;
  codec::put_tag(bytes, 1, codec::WireFormatLite::WIRETYPE_FIXED64);
  bytes += "12345678";
  EXPECT_FALSE(codec::decode(4, bytes).ok());
}

TEST(Codec, GroupsNestedWithoutEndAreErrors) {
  std::string bytes;
  for (int i = 0; i < 10'000; ++i) {
    codec::put_tag(bytes, 900, codec::WireFormatLite::WIRETYPE_START_GROUP);
  }
  EXPECT_FALSE(codec::decode(4, bytes).ok());
}

TEST(Codec, LengthsBeyondTheInputAreErrors) {
  for (const std::uint64_t length : {std::uint64_t{5}, std::uint64_t{1} << 31, ~std::uint64_t{0}}) {
    std::string bytes;
    codec::put_tag(bytes, 2, codec::WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
    codec::put_varint(bytes, length);
    bytes += "abcd";
    EXPECT_FALSE(codec::decode(1, bytes).ok()) << length;  // a name
    EXPECT_FALSE(codec::decode(6, bytes).ok()) << length;  // a record
  }
}

// Cut and flipped bytes give a fact or an error, and what is read can be written again.
TEST(Codec, DamagedBytesNeverDoHarm) {
  RandomFill random(3);
  std::size_t errors = 0;
  for (std::size_t round = 0; round < 300; ++round) {
    for (std::size_t i = 0; i < kKinds; ++i) {
      std::string bytes;
      ASSERT_TRUE(codec::encode(random.fact(i).body, bytes));
      if (bytes.empty()) continue;
      if (random.below(2) == 0) bytes.resize(random.below(bytes.size()));
      for (std::uint64_t n = random.below(3); n > 0 && !bytes.empty(); --n) {
        bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
      }
      const auto back = codec::decode(static_cast<std::uint32_t>(i) + 1, bytes);
      errors += back.ok() ? 0 : 1;
      if (!back.ok()) continue;
      std::string once, twice;
      ASSERT_TRUE(codec::encode(*back, once));
      const auto again = codec::decode(static_cast<std::uint32_t>(i) + 1, once);
      ASSERT_TRUE(again.ok());
      ASSERT_TRUE(codec::encode(*again, twice));
      EXPECT_EQ(once, twice);
    }
  }
  EXPECT_GT(errors, 1000u);
}

// Of all kinds and sizes, over several blocks, one of them for a fact of its own.
TEST(PackedFacts, ComeBackAsTheyWere) {
  RandomFill random(7);
  std::vector<Fact> facts;
  for (std::size_t i = 0; i < 20'000; ++i) {
    facts.push_back(random.fact(i % std::variant_size_v<fact::Kinds>));
    facts.back().time_ms = static_cast<TimeMs>(random.below(1u << 30));
    if (i == 5000) {
      fact::EditRefused large;
      large.error.assign(3u << 20, 'x');
      facts.back().body = large;
    }
  }
  const PackedFacts packed = pack(facts);
  ASSERT_EQ(packed.size(), facts.size());
  const std::vector<Fact> back = unpack(packed);
  ASSERT_EQ(back.size(), facts.size());
  for (std::size_t i = 0; i < facts.size(); ++i) {
    ASSERT_EQ(fact_to_text(back[i]), fact_to_text({0, facts[i].time_ms, facts[i].body})) << i;
  }
  EXPECT_TRUE(unpack(PackedFacts()).empty());
}

}  // namespace
}  // namespace subak
