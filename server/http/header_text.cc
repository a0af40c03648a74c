#include "server/http/header_text.h"

#include <openssl/evp.h>

#include <array>

namespace subak {

std::string_view trimmed(std::string_view text) {
  const auto from = text.find_first_not_of(" \t");
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(" \t") - from + 1);
}

std::string policy_hash(std::string_view text) {
  std::array<unsigned char, 32> digest{};
  EVP_Digest(text.data(), text.size(), digest.data(), nullptr, EVP_sha256(), nullptr);
  std::array<unsigned char, 45> base64{};
  const int size = EVP_EncodeBlock(base64.data(), digest.data(), digest.size());
  return "'sha256-" + std::string(base64.begin(), base64.begin() + size) + "'";
}

}  // namespace subak
