// Reads a protobuf message in text form, for fuzzers whose corpora people read. Text that is not a
// message is ignored without output.
#pragma once

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <string>

namespace subak::fuzz {

// Returns false if the text is no such message, or nests more than 20 levels.
inline bool read_text_message(const std::string& text, google::protobuf::Message* message) {
  struct Silent final : google::protobuf::io::ErrorCollector {
    void AddError(int, int, const std::string&) override {}
  } silent;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&silent);
  parser.SetRecursionLimit(20);
  return parser.ParseFromString(text, message);
}

}  // namespace subak::fuzz
