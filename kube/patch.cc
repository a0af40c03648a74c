#include "kube/patch.h"

#include "kube/json.h"

namespace subak {
namespace {

std::string json_string(std::string_view text) {
  std::string json;
  append_json_string(json, text);
  return json;
}

}  // namespace

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

void PatchWriter::operation(std::string_view op, std::string_view pointer, std::string_view json) {
  if (out_.empty()) out_.reserve(512);
  out_ += out_.empty() ? "[{" : ",{";
  append_json_member(out_, "op", op);
  append_json_member(out_, "path", pointer);
  if (!json.empty()) out_ += ",\"value\":";
  out_ += json;
  out_ += '}';
}

void PatchWriter::add(std::string_view pointer, std::string_view json) {
  operation("add", pointer, json);
}

void PatchWriter::test_text(std::string_view pointer, std::string_view text) {
  operation("test", pointer, json_string(text));
}

void PatchWriter::remove(std::string_view pointer) { operation("remove", pointer, ""); }

void PatchWriter::add_text(std::string_view pointer, std::string_view text) {
  operation("add", pointer, json_string(text));
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
  std::string json = "{";
  for (const auto& [key, value] : pairs) append_json_member(json, key, value);
  add(pointer, json + "}");
}

std::string PatchWriter::finish() && {
  if (!out_.empty()) out_ += ']';
  return std::move(out_);
}

}  // namespace subak
