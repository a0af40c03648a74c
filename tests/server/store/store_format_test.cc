// Versions of the durable form, on a second one that is made here: it adds a kind, a field and a
// value. Nothing of it is written before finalize; the program of the first version reads what was
// written before, refuses what came after, and drops nothing.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "server/codec/codec.h"
#include "server/codec/format.h"
#include "server/store/file/connection.h"
#include "server/store/file/row_sum.h"
#include "server/store/proof/head.h"
#include "tests/server/store/support/store_program.h"

namespace subak {
namespace made {

enum class Colour : std::uint8_t { kNone, kRed, kBlue };

// What both versions have.
struct Node {
  static constexpr std::string_view kName = "node";
  struct Spec {
    std::string name;
    std::int64_t extra = 0;
    template <class V>
    void fields(V& v) {
      v(1, "name", name);
      v(in_version<2>(2), "extra", extra);
    }
    friend bool operator==(const Spec&, const Spec&) = default;
  };
  Spec spec;
  std::vector<Spec> more;
  Colour colour = Colour::kNone;
  template <class V>
  void fields(V& v) {
    v(1, "spec", spec);
    v(2, "more", more);
    v(3, "colour", colour);
  }
};

// A kind of the second version.
struct Rack {
  static constexpr std::string_view kName = "rack";
  std::string name;
  template <class V>
  void fields(V& v) {
    v(1, "name", name);
  }
};

using Body = std::variant<Node, Rack>;
constexpr std::array<std::uint32_t, 2> kKinds{1, 2};

}  // namespace made

template <>
struct EnumText<made::Colour> {
  static constexpr std::array<std::string_view, 3> names{"none", "red", "blue"};
  static constexpr std::array<std::size_t, 2> values_of_version{2, 3};
};

namespace {

namespace fs = std::filesystem;

constexpr codec::Format<made::Body> kMade(made::kKinds);

made::Node node(std::int64_t extra, made::Colour colour) {
  made::Node out;
  out.spec = {"n1", extra};
  out.colour = colour;
  return out;
}

std::string bytes_of(const made::Body& body) {
  std::string bytes;
  EXPECT_TRUE(kMade.encode(body, bytes));
  return bytes;
}

std::uint32_t needs(const made::Body& body) {
  std::string bytes;
  return kMade.encode(body, bytes).value_or(0);
}

// Each of the three, where it is not at its default.
std::vector<made::Body> of_the_second() {
  made::Node in_list = node(0, made::Colour::kRed);
  in_list.more.push_back({"n2", 7});
  return {node(7, made::Colour::kRed), in_list, node(0, made::Colour::kBlue), made::Rack{"r"},
          made::Rack{}};
}

TEST(Format, SaysWhichVersionTheBytesNeed) {
  EXPECT_EQ(needs(node(0, made::Colour::kRed)), 1u);
  for (const made::Body& body : of_the_second()) EXPECT_EQ(needs(body), 2u);
  EXPECT_EQ(needs(node(0, static_cast<made::Colour>(3))), 0u);  // of no version: not written
  std::string bytes = "before";
  EXPECT_FALSE(kMade.encode(node(0, static_cast<made::Colour>(3)), bytes));
  EXPECT_EQ(bytes, "before");
  EXPECT_EQ(kMade.refusal(made::Rack{"r"}, 1).message(),
            "rack: was \"of fact version 2\", want facts of version 1, which the store has");
}

TEST(Format, TheFirstVersionReadsWhatItHasAndRefusesTheRestWithItsPlace) {
  const std::string old = bytes_of(node(0, made::Colour::kRed));
  for (const std::uint32_t version : {1u, 2u}) {
    const auto back = kMade.decode(1, old, version);
    ASSERT_TRUE(back.ok());
    EXPECT_EQ(bytes_of(*back), old);
  }
  std::vector<std::string> said;
  for (const made::Body& body : of_the_second()) {
    const auto back = kMade.decode(kMade.kind_of(body), bytes_of(body), 1);
    ASSERT_FALSE(back.ok());
    EXPECT_EQ(back.error().code, ErrorCode::kPrecondition);
    said.push_back(back.error().field + " " + back.error().got);
  }
  EXPECT_EQ(said, (std::vector<std::string>{"node.spec field 2", "node.more field 2",
                                            "node.colour value 2", "kind 2", "kind 2"}));
}

TEST(Format, TheSecondVersionLosesNothing) {
  for (const made::Body& body : of_the_second()) {
    const std::string bytes = bytes_of(body);
    const auto back = kMade.decode(kMade.kind_of(body), bytes, 2);
    ASSERT_TRUE(back.ok()) << back.error().message();
    EXPECT_EQ(bytes_of(*back), bytes);
  }
}

// The present program is the first version on a real store; what the second would write there is
// put into it by hand.
class StoreFormatTest : public testing::Test {
 protected:
  StoreFormatTest() {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    dir_ = fs::temp_directory_path() /
           ("subak_format_" + std::string(info->name()) + "_" + std::to_string(::getpid()));
    fs::create_directories(dir_);
    path_ = (dir_ / "subak.db").string();
    Program program(path_);
    program.found();
    program.work();
    program.checkpoint();
    seq_ = program.engine().seq();
  }
  ~StoreFormatTest() override { fs::remove_all(dir_); }

  // One fact more, as a program of another version would have committed it.
  void append(std::uint32_t kind, const std::string& body) {
    Connection db;
    ASSERT_TRUE(db.open(path_, OpenMode::kReadWrite));
    const std::uint32_t seed = *read_seed(db);
    Head head = *read_head(db, seed);
    head.facts_sum = fact_sum(head.facts_sum, ++head.facts, 1, kind, body);
    Statement insert;
    ASSERT_TRUE(insert.prepare(db, "INSERT INTO facts VALUES (?, ?, ?, ?, ?)"));
    insert.bind(1, head.facts);
    insert.bind(2, TimeMs{1});
    insert.bind(3, std::uint64_t{kind});
    insert.bind_blob(4, body);
    insert.bind(5, sum_column(head.facts_sum));
    ASSERT_TRUE(insert.run());
    HeadWriter writer;
    ASSERT_TRUE(writer.prepare(db, seed) && writer.write(head));
  }

  fs::path dir_;
  std::string path_;
  std::uint64_t seq_ = 0;
};

TEST_F(StoreFormatTest, AnUnknownFieldStopsTheStartAndIsStillThere) {
  fact::NodeSet known;
  known.id = NodeId(1);
  known.cluster = ClusterId(1);
  known.spec.name = "n1";
  std::string bytes;
  ASSERT_TRUE(codec::encode(known, bytes));
  codec::put_tag(bytes, 900, codec::WireFormatLite::WIRETYPE_VARINT);
  codec::put_varint(bytes, 1);
  append(codec::kind_of(known), bytes);
  for (int start = 0; start < 2; ++start) {  // the first changed nothing
    EXPECT_EQ(Program(path_).error(),
              "store.fact " + std::to_string(seq_ + 1) +
                  " node_set: was \"field 900 (the store is of fact version 1)\", want the fields "
                  "and values of fact version 1, which is all that this program knows: run the "
                  "newer subakd that wrote it, or restore a backup made before that");
  }
}

TEST_F(StoreFormatTest, AnUnknownValueStopsTheStart) {
  std::string bytes;
  codec::put_tag(bytes, 3, codec::WireFormatLite::WIRETYPE_VARINT);
  codec::put_varint(bytes, EnumText<Mode>::names.size());
  append(codec::kind_of(fact::ClusterSet{}), bytes);
  EXPECT_NE(Program(path_).error().find(" cluster_set.mode: was \"value 3 (the store is"),
            std::string::npos)
      << Program(path_).error();
}

TEST_F(StoreFormatTest, AnUnknownKindStopsTheStart) {
  append(codec::kKinds + 1, "");
  EXPECT_NE(Program(path_).error().find(" kind: was \"" + std::to_string(codec::kKinds + 1)),
            std::string::npos)
      << Program(path_).error();
}

// A value that this version does not have is not written, nor anything of its batch; a checkpoint
// that an older program could not read is not either.
TEST_F(StoreFormatTest, NothingIsWrittenThatTheStoresVersionDoesNotHave) {
  {
    Program program(path_);
    fact::ClusterSet later;
    later.mode = static_cast<Mode>(EnumText<Mode>::names.size());
    const Fact before{seq_ + 1, 1, fact::EditRefused{}};
    const auto error = program.store().commit(std::vector<Fact>{before, {seq_ + 2, 1, later}});
    ASSERT_TRUE(error);
    EXPECT_EQ(error->message(), "store.fact " + std::to_string(seq_ + 2) +
                                    " cluster_set: was \"with a value of no version\", want facts "
                                    "of version 1, which the store has");
    PackedFacts kept;
    EXPECT_FALSE(kept.add({0, 1, later}));
  }
  Program again(path_);
  EXPECT_EQ(again.error(), "");
  EXPECT_EQ(again.engine().seq(), seq_);
}

}  // namespace
}  // namespace subak
