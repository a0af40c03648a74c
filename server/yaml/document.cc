#include "server/yaml/document.h"

#include <simdjson.h>
#include <yaml-cpp/eventhandler.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace subak {
namespace {

std::size_t line_of(const YAML::Mark& mark) {
  return static_cast<std::size_t>(std::max(mark.line, 0)) + 1;
}

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < ' ' && c != '\t' && c != '\n' && c != '\r') || byte == 0x7f;
}

bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(), is_control);
}

constexpr char kNoControl[] = "a control character, want text without";

std::optional<YamlMistake> check_bytes(std::string_view text) {
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    const std::string_view part = text.substr(0, end);
    if (has_control(part)) return YamlMistake{line, kNoControl};
    if (!simdjson::validate_utf8(part.data(), part.size())) {
      return YamlMistake{line, "bytes that are no UTF-8, want UTF-8"};
    }
    text.remove_prefix(end);
  }
  return std::nullopt;
}

// True if the text's last quote is closed. yaml-cpp takes the end of the text for the end of a
// quote. `from`: where the node begins, its anchor or tag first.
bool ends_in_a_quote(std::string_view text, std::size_t from) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  while (from < text.size() && (text[from] == '&' || text[from] == '!')) {
    from = text.find_first_not_of(" \t\r\n", text.find_first_of(" \t\r\n", from));
  }
  if (from >= text.size() || (text[from] != '\'' && text[from] != '"')) return false;
  const char quote = text[from];
  for (std::size_t i = from + 1; i < text.size(); ++i) {
    if (quote == '"' && text[i] == '\\') {
      ++i;
    } else if (text[i] == quote) {
      const bool doubled = quote == '\'' && i + 1 < text.size() && text[i + 1] == quote;
      if (!doubled) return false;
      ++i;
    }
  }
  return true;
}

// Sees every event of the text. Throws the first mistake.
class Checker final : public YAML::EventHandler {
 public:
  explicit Checker(bool one_document) : one_document_(one_document) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1 && one_document_) {
      throw YamlMistake{line_of(mark), "a second document begins, want one document in a file"};
    }
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override {
    refuse_as_key(mark);
    node_ended();
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    refuse_as_key(mark);
    node_ended();
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                const std::string& value) override {
    check_tag(mark, tag);
    last_scalar_ = mark;
    if (has_control(value)) throw YamlMistake{line_of(mark), kNoControl};
    if (is_key() && !levels_.back().keys.insert(value).second) {
      const Error error{ErrorCode::kInvalid, value, value, "want each key once"};
      throw YamlMistake{line_of(mark), error.message()};
    }
    node_ended();
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    begin(mark, tag, false);
  }
  void OnSequenceEnd() override { end(); }
  // Only the last quote of a text can lack its end.
  void check_end(std::string_view text) const {
    if (last_scalar_.pos < 0 ||
        !ends_in_a_quote(text, static_cast<std::size_t>(last_scalar_.pos))) {
      return;
    }
    throw YamlMistake{line_of(last_scalar_), "not YAML: a quote that does not end"};
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    begin(mark, tag, true);
  }
  void OnMapEnd() override { end(); }

 private:
  struct Level {
    bool is_map = false;
    bool key_next = true;
    std::set<std::string> keys{};
  };
  bool is_key() const {
    return !levels_.empty() && levels_.back().is_map && levels_.back().key_next;
  }
  void refuse_as_key(const YAML::Mark& mark) const {
    if (is_key()) throw YamlMistake{line_of(mark), "a key that is no text, want a text"};
  }
  static void check_tag(const YAML::Mark& mark, const std::string& tag) {
    for (const char* const plain : {"", "?", "!", "tag:yaml.org,2002:str", "tag:yaml.org,2002:map",
                                    "tag:yaml.org,2002:seq"}) {
      if (tag == plain) return;
    }
    const Error error{ErrorCode::kInvalid, "tag", tag, "want the value without a tag"};
    throw YamlMistake{line_of(mark), error.message()};
  }
  void begin(const YAML::Mark& mark, const std::string& tag, bool is_map) {
    check_tag(mark, tag);
    refuse_as_key(mark);
    levels_.push_back({is_map});
  }
  void end() {
    levels_.pop_back();
    node_ended();
  }
  void node_ended() {
    if (!levels_.empty()) levels_.back().key_next = !levels_.back().key_next;
  }

  const bool one_document_;
  int documents_ = 0;
  YAML::Mark last_scalar_ = YAML::Mark::null_mark();
  std::vector<Level> levels_;
};

// Calls `load` if the text has no mistake, and returns the first mistake.
template <class Load>
std::optional<YamlMistake> check_and(const std::string& text, bool one_document, Load load) {
  if (auto mistake = check_bytes(text)) return mistake;
  try {
    std::istringstream in(text);
    YAML::Parser parser(in);
    Checker checker(one_document);
    // Each document takes a line. For some texts, the parser finds documents without end.
    const auto is_break = [](char c) { return c == '\n' || c == '\r'; };
    std::ptrdiff_t left = 1 + std::count_if(text.begin(), text.end(), is_break);
    while (parser.HandleNextDocument(checker)) {
      if (left-- == 0) throw YamlMistake{1, "not YAML: more documents than lines"};
    }
    checker.check_end(text);
    load();
  } catch (const YamlMistake& mistake) {
    return mistake;
  } catch (const YAML::Exception& e) {
    return YamlMistake{line_of(e.mark), "not YAML: " + e.msg};
  }
  return std::nullopt;
}

}  // namespace

std::size_t line_of(const YAML::Node& node) { return line_of(node.Mark()); }

YamlDocument read_yaml(const std::string& text) {
  YamlDocument out;
  out.mistake = check_and(text, true, [&] { out.root = YAML::Load(text); });
  return out;
}

YamlDocuments read_yaml_documents(const std::string& text) {
  YamlDocuments out;
  out.mistake = check_and(text, false, [&] { out.roots = YAML::LoadAll(text); });
  return out;
}

}  // namespace subak
