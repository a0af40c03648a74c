// RFC 6902 patches as text. Never under a parent that is not there: of a webhook, a patch that does
// not apply fails the user's request even with failurePolicy Ignore.
// Threads: one PatchWriter per thread.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace subak {

// "/" -> "~1", "~" -> "~0" (RFC 6901).
std::string pointer_token(std::string_view key);

class PatchWriter {
 public:
  // One operation; `json` is the value as JSON text, `pointer` is escaped already.
  void add(std::string_view pointer, std::string_view json);
  // The patch applies only where the text at `pointer` is this one.
  void test_text(std::string_view pointer, std::string_view text);
  void remove(std::string_view pointer);
  void add_text(std::string_view pointer, std::string_view text);
  // Adds all pairs to the map at `pointer`:
  // one operation if the map is not there, else one for each.
  void add_members(std::string_view pointer, bool map_exists,
                   const std::vector<std::pair<std::string_view, std::string>>& pairs);
  bool empty() const { return out_.empty(); }
  // The whole patch, "" if there is nothing to do.
  std::string finish() &&;

 private:
  // `json`: the value; empty for none.
  void operation(std::string_view op, std::string_view pointer, std::string_view json);

  std::string out_;
};

}  // namespace subak
