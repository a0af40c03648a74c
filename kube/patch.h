// Writes JSON patches (RFC 6902) as text, for the webhook and for the release of pods. A caller
// must never add a member to a missing parent: the patch would not apply. If a webhook's patch does
// not apply, the user's request fails, even with failurePolicy Ignore.
// Threads: each PatchWriter belongs to one thread.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace subak {

// Escapes a key: "/" becomes "~1", and "~" becomes "~0" (RFC 6901).
std::string pointer_token(std::string_view key);

// Collects operations in order. The API server applies all operations or none.
class PatchWriter {
 public:
  // Adds one operation. `json` is the value as JSON text; `pointer` must be escaped.
  void add(std::string_view pointer, std::string_view json);
  // Makes the patch apply only if the text at `pointer` equals `text`.
  void test_text(std::string_view pointer, std::string_view text);
  // Removes the value at `pointer`, which must exist.
  void remove(std::string_view pointer);
  // Adds a text. The function quotes and escapes the text.
  void add_text(std::string_view pointer, std::string_view text);
  // Adds all pairs to the map at `pointer`. If the map does not exist, it adds one operation; else
  // one operation for each pair.
  void add_members(std::string_view pointer, bool map_exists,
                   const std::vector<std::pair<std::string_view, std::string>>& pairs);
  bool empty() const { return out_.empty(); }
  // Returns the complete patch; "" if there is nothing to do.
  std::string finish() &&;

 private:
  // `json` is the value; it is empty if there is none.
  void operation(std::string_view op, std::string_view pointer, std::string_view json);

  std::string out_;
};

}  // namespace subak
