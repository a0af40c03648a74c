#include "kube/patch.h"

#include "kube/json.h"

namespace subak {

std::string pointer_token(std::string_view key) {
  std::string out;
  for (const char c : key) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
  return out;
}

void PatchWriter::begin(std::string_view op, std::string_view pointer) {
  if (out_.empty()) out_.reserve(512);
  out_ += out_.empty() ? R"([{"op":")" : R"(,{"op":")";
  out_ += op;
  out_ += R"(","path":)";
  append_json_string(out_, pointer);
}

void PatchWriter::add(std::string_view pointer, std::string_view json) {
  begin("add", pointer);
  out_ += ",\"value\":";
  out_ += json;
  out_ += '}';
}

void PatchWriter::test_text(std::string_view pointer, std::string_view text) {
  begin("test", pointer);
  out_ += ",\"value\":";
  append_json_string(out_, text);
  out_ += '}';
}

void PatchWriter::remove(std::string_view pointer) {
  begin("remove", pointer);
  out_ += '}';
}

void PatchWriter::add_text(std::string_view pointer, std::string_view text) {
  std::string json;
  append_json_string(json, text);
  add(pointer, json);
}

void PatchWriter::add_members(std::string_view pointer, bool map_exists,
                              const std::vector<std::pair<std::string_view, std::string>>& pairs) {
  if (pairs.empty()) return;
  if (map_exists) {
    for (const auto& [key, value] : pairs) {
      add_text(std::string(pointer) + "/" + pointer_token(key), value);
    }
    return;
  }
  std::string json;
  for (const auto& [key, value] : pairs) {
    json += json.empty() ? '{' : ',';
    append_json_string(json, key);
    json += ':';
    append_json_string(json, value);
  }
  add(pointer, json + "}");
}

std::string PatchWriter::finish() && {
  if (!out_.empty()) out_ += ']';
  return std::move(out_);
}

}  // namespace subak
