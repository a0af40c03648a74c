// Writes RFC 6902 patches as text. A caller must never add a member to a missing parent: a webhook
// patch that does not apply fails the user's request, even with failurePolicy Ignore.
// Threads: one PatchWriter per thread.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace subak {

// Escapes a key: "/" becomes "~1", and "~" becomes "~0" (RFC 6901).
std::string pointer_token(std::string_view key);

// Collects operations in order. The API server applies all of them or none.
class PatchWriter {
 public:
  // Adds one operation. `json` is the value as JSON text; `pointer` must be escaped.
  void add(std::string_view pointer, std::string_view json);
  // Makes the patch apply only if the text at `pointer` equals this one.
  void test_text(std::string_view pointer, std::string_view text);
  // Removes the value at `pointer`, which must exist.
  void remove(std::string_view pointer);
  // Adds a text, which it quotes and escapes.
  void add_text(std::string_view pointer, std::string_view text);
  // Adds all pairs to the map at `pointer`. It adds one operation if the map does not exist, else
  // one for each pair.
  void add_members(std::string_view pointer, bool map_exists,
                   const std::vector<std::pair<std::string_view, std::string>>& pairs);
  bool empty() const { return out_.empty(); }
  // Returns the complete patch, "" if there is nothing to do.
  std::string finish() &&;

 private:
  // `json` is the value; it is empty if there is none.
  void operation(std::string_view op, std::string_view pointer, std::string_view json);

  std::string out_;
};

}  // namespace subak
