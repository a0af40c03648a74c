#include "server/store/past/past_checkpoint.h"

#include <isa-l/igzip_lib.h>

#include <memory>
#include <utility>

#include "core/limits.h"
#include "core/must.h"
#include "server/codec/codec.h"
#include "server/codec/kept_row.h"
#include "server/codec/past_checkpoint_limits.h"
#include "server/store/file/row_sum.h"

namespace subak {
namespace {

constexpr std::size_t kBlockHead = 12;
// No row is longer than the longest fact and its head.
constexpr std::size_t kMaxBlockBytes = limits::kCheckpointPartBytes + limits::kMaxFactBytes + 16;

Error refused(std::string got, std::string want) {
  return {ErrorCode::kPrecondition, "store.past", std::move(got), std::move(want)};
}

Error damaged(std::uint64_t seq) {
  return refused("past checkpoint " + std::to_string(seq) + " is damaged",
                 "want it as it was written; without it, reads of the past take longer");
}

std::uint32_t sum_of_head(const PastHead& head, std::uint32_t seed) {
  return RowSum(seed)
      .add(kPastFirstLine)
      .add(head.seq)
      .add(std::uint64_t{head.anchor})
      .add(std::uint64_t{head.needs})
      .add(head.facts)
      .value();
}

std::uint32_t sum_of_block(std::uint32_t before, std::uint64_t length, std::string_view packed) {
  return RowSum(before).add(length).add(packed).value();
}

// The library takes writable bytes.
std::uint8_t* bytes_of(std::string_view text) {
  return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
}

// Compresses blocks. An object has large buffers, which all blocks share.
class Deflater {
 public:
  // Returns the compressed bytes, which are valid until the next call.
  std::string_view pack(std::string_view rows) {
    // Deflate needs 5 bytes for each 65,535 bytes that it cannot compress (RFC 1951, 3.2.4).
    packed_.resize(rows.size() + rows.size() / 1024 + 1024);
    isal_deflate_stateless_init(stream_.get());
    stream_->level = 1;
    stream_->level_buf = bytes_of(work_);
    stream_->level_buf_size = static_cast<std::uint32_t>(work_.size());
    stream_->end_of_stream = 1;
    stream_->next_in = bytes_of(rows);
    stream_->avail_in = static_cast<std::uint32_t>(rows.size());
    stream_->next_out = bytes_of(packed_);
    stream_->avail_out = static_cast<std::uint32_t>(packed_.size());
    must(isal_deflate_stateless(stream_.get()) == COMP_OK, "the buffer holds any block");
    return std::string_view(packed_).substr(0, stream_->total_out);
  }

 private:
  std::unique_ptr<isal_zstream> stream_ = std::make_unique<isal_zstream>();
  std::string work_ = std::string(ISAL_DEF_LVL1_DEFAULT, '\0');
  std::string packed_;
};

// Decompresses exactly `length` bytes into `rows`. False: the bytes have another length, or are no
// deflate stream.
bool unpack(std::string_view packed, std::size_t length, std::string& rows) {
  rows.resize(length);
  const auto state = std::make_unique<inflate_state>();
  isal_inflate_init(state.get());
  state->next_in = bytes_of(packed);
  state->avail_in = static_cast<std::uint32_t>(packed.size());
  state->next_out = bytes_of(rows);
  state->avail_out = static_cast<std::uint32_t>(rows.size());
  return isal_inflate_stateless(state.get()) == ISAL_DECOMP_OK && state->total_out == length;
}

class Encoder {
 public:
  Encoder(std::string& out, std::uint32_t sum) : out_(out), sum_(sum) {}
  void add(const PackedFacts::Row& row) {
    append_kept(rows_, {row.time_ms, row.kind, row.body});
    if (rows_.size() >= limits::kCheckpointPartBytes) end_block();
  }
  void end_block() {
    if (rows_.empty()) return;
    const std::string_view packed = deflater_.pack(rows_);
    sum_ = sum_of_block(sum_, rows_.size(), packed);
    append_number(out_, rows_.size(), 4);
    append_number(out_, packed.size(), 4);
    append_number(out_, sum_, 4);
    out_ += packed;
    rows_.clear();
  }

 private:
  std::string& out_;
  std::uint32_t sum_;
  std::string rows_;
  Deflater deflater_;
};

// Reads the rows of one block after another.
class Decoder {
 public:
  Decoder(std::string_view blocks, std::uint32_t sum) : left_(blocks), sum_(sum) {}
  bool at_end() const { return left_.empty(); }
  // Sets `rows` to those of the next block. False: the block is damaged.
  bool next(std::string& rows) {
    if (left_.size() < kBlockHead) return false;
    const std::uint64_t length = number_at(left_, 0, 4), packed = number_at(left_, 4, 4);
    const auto sum = static_cast<std::uint32_t>(number_at(left_, 8, 4));
    left_.remove_prefix(kBlockHead);
    if (packed > left_.size() || length == 0 || length > kMaxBlockBytes) return false;
    const std::string_view bytes = left_.substr(0, packed);
    left_.remove_prefix(packed);
    sum_ = sum_of_block(sum_, length, bytes);
    return sum == sum_ && unpack(bytes, length, rows);
  }

 private:
  std::string_view left_;
  std::uint32_t sum_;
};

}  // namespace

Result<std::string> encode_past_checkpoint(const PackedFacts& facts, std::uint64_t seq,
                                           std::uint32_t anchor, std::uint32_t seed) {
  const PastHead head{seq, anchor, facts.needs(), facts.size()};
  const std::uint32_t sum = sum_of_head(head, seed);
  std::string out(kPastFirstLine);
  append_number(out, head.seq, 8);
  append_number(out, head.anchor, 4);
  append_number(out, head.needs, 4);
  append_number(out, head.facts, 8);
  append_number(out, sum, 4);
  Encoder encoder(out, sum);
  PackedFacts::Cursor cursor(facts);
  for (PackedFacts::Row row; cursor.next(row) && out.size() <= limits::kMaxPastCheckpointBytes;) {
    encoder.add(row);
  }
  encoder.end_block();
  if (out.size() <= limits::kMaxPastCheckpointBytes) return out;
  return Error{
      ErrorCode::kExhausted, "store.past",
      "past checkpoint " + std::to_string(seq) + " of " + std::to_string(facts.size()) + " facts",
      "want at most " + std::to_string(limits::kMaxPastCheckpointBytes) + " compressed bytes"};
}

std::optional<PastHead> read_past_head(std::string_view bytes, std::uint32_t seed) {
  if (bytes.size() < kPastHeadBytes || !bytes.starts_with(kPastFirstLine)) return std::nullopt;
  bytes = bytes.substr(kPastFirstLine.size());
  const PastHead head{number_at(bytes, 0, 8), static_cast<std::uint32_t>(number_at(bytes, 8, 4)),
                      static_cast<std::uint32_t>(number_at(bytes, 12, 4)), number_at(bytes, 16, 8)};
  if (number_at(bytes, 24, 4) != sum_of_head(head, seed)) return std::nullopt;
  return head;
}

std::optional<Error> decode_past_checkpoint(std::string_view bytes, std::uint32_t seed,
                                            std::uint32_t version, FactSink& sink) {
  const auto head = read_past_head(bytes, seed);
  if (!head) return damaged(0);
  if (head->needs > version) {
    return refused("past checkpoint " + std::to_string(head->seq) + " of fact version " +
                       std::to_string(head->needs),
                   "want fact version " + std::to_string(version) + " or older");
  }
  Decoder decoder(bytes.substr(kPastHeadBytes), sum_of_head(*head, seed));
  std::string rows;
  std::uint64_t facts = 0;
  while (!decoder.at_end()) {
    if (!decoder.next(rows)) return damaged(head->seq);
    for (std::string_view left = rows; !left.empty(); ++facts) {
      const auto row = next_kept(left);
      if (!row) return damaged(head->seq);
      auto body = codec::decode(row->kind, row->body, version);
      if (!body.ok()) return body.error();
      sink.checkpoint_fact(Fact{0, row->time_ms, std::move(*body)});
    }
  }
  if (facts != head->facts) return damaged(head->seq);
  sink.checkpoint_end(head->seq);
  return std::nullopt;
}

}  // namespace subak
