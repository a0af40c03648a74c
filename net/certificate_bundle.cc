#include "net/certificate_bundle.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <cstdint>
#include <ctime>
#include <memory>
#include <string_view>

#include "core/limits.h"

namespace subak {
namespace {

using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;

Key new_key() { return {EVP_EC_gen("P-256"), &EVP_PKEY_free}; }

bool add_extension(X509* cert, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, cert, nullptr, nullptr, 0);
  X509_EXTENSION* e = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  const bool ok = e != nullptr && X509_add_ext(cert, e, -1) == 1;
  X509_EXTENSION_free(e);
  return ok;
}

bool set_name(X509_NAME* name, std::string_view common) {
  return X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(common.data()),
                                    static_cast<int>(common.size()), -1, 0) == 1;
}

// Returns a certificate with subject, validity, serial and key; the caller sets issuer and
// signature.
Certificate blank(std::string_view common, EVP_PKEY* key, TimeMs now) {
  Certificate cert(X509_new(), &X509_free);
  std::uint64_t serial = 0;
  RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial);
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(cert.get()), serial >> 1 | 1);
  X509_set_version(cert.get(), X509_VERSION_3);
  const auto at = [](TimeMs t) { return static_cast<std::time_t>(t / kSecondMs); };
  ASN1_TIME_set(X509_getm_notBefore(cert.get()), at(now - kClockSlackMs));
  ASN1_TIME_set(X509_getm_notAfter(cert.get()), at(now + limits::kOwnCaMs));
  X509_set_pubkey(cert.get(), key);
  set_name(X509_get_subject_name(cert.get()), common);
  return cert;
}

bool is_ip(const std::string& name) {
  unsigned char buf[sizeof(in6_addr)];
  return inet_pton(AF_INET, name.c_str(), buf) == 1 || inet_pton(AF_INET6, name.c_str(), buf) == 1;
}

// Leaves out characters that would start another entry of the extension's text form.
std::string alternative_names(const std::vector<std::string>& names) {
  std::string out = "DNS:localhost,DNS:subak.subak-system.svc,IP:127.0.0.1,IP:::1";
  for (const std::string& name : names) {
    if (name.empty() || name.find_first_of(",;: \n") != std::string::npos) {
      if (!is_ip(name)) continue;
    }
    out += (is_ip(name) ? ",IP:" : ",DNS:") + name;
  }
  return out;
}

bool make_ca(X509* ca, EVP_PKEY* key) {
  return X509_set_issuer_name(ca, X509_get_subject_name(ca)) == 1 &&
         add_extension(ca, ca, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
         add_extension(ca, ca, NID_key_usage, "critical,keyCertSign,cRLSign") &&
         add_extension(ca, ca, NID_subject_key_identifier, "hash") &&
         X509_sign(ca, key, EVP_sha256()) > 0;
}

bool make_leaf(X509* leaf, X509* ca, EVP_PKEY* ca_key, const std::string& names) {
  return X509_set_issuer_name(leaf, X509_get_subject_name(ca)) == 1 &&
         add_extension(leaf, ca, NID_basic_constraints, "critical,CA:FALSE") &&
         add_extension(leaf, ca, NID_key_usage, "critical,digitalSignature") &&
         add_extension(leaf, ca, NID_ext_key_usage, "serverAuth") &&
         add_extension(leaf, ca, NID_subject_alt_name, names) &&
         add_extension(leaf, ca, NID_subject_key_identifier, "hash") &&
         add_extension(leaf, ca, NID_authority_key_identifier, "keyid:always") &&
         X509_sign(leaf, ca_key, EVP_sha256()) > 0;
}

std::string contents(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<std::size_t>(size)};
}
std::string pem_of(X509* cert) {
  const Bio bio(BIO_new(BIO_s_mem()), &BIO_free);
  PEM_write_bio_X509(bio.get(), cert);
  return contents(bio.get());
}
std::string pem_of(EVP_PKEY* key) {
  const Bio bio(BIO_new(BIO_s_mem()), &BIO_free);
  PEM_write_bio_PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
  return contents(bio.get());
}

Error failed(const std::string& field, std::string_view want) {
  ERR_clear_error();
  return {ErrorCode::kInvalid, field, "", std::string(want)};
}

}  // namespace

Result<CertificateBundle> make_certificate_bundle(const std::vector<std::string>& names,
                                                  TimeMs now) {
  const Key ca_key = new_key(), key = new_key();
  if (!ca_key || !key) return failed("certificate", "OpenSSL made no P-256 key");
  const Certificate ca = blank("subak webhook CA", ca_key.get(), now);
  const Certificate leaf = blank("subak", key.get(), now);
  if (!make_ca(ca.get(), ca_key.get()) ||
      !make_leaf(leaf.get(), ca.get(), ca_key.get(), alternative_names(names))) {
    return failed("certificate", "OpenSSL signed no certificate for " + alternative_names(names));
  }
  return CertificateBundle{pem_of(ca.get()), pem_of(leaf.get()), pem_of(key.get())};
}

}  // namespace subak
