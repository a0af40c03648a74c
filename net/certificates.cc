#include "net/certificates.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sys/stat.h>

#include <ctime>
#include <fstream>
#include <sstream>

namespace subak {
namespace {

Error file_error(const std::string& file, std::string_view want) {
  ERR_clear_error();
  return {ErrorCode::kInvalid, file, "", std::string(want)};
}

using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

Bio memory(const std::string& pem) {
  return {BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), &BIO_free};
}

TimeMs to_time(const ASN1_TIME* t) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(t, &parts) != 1) return 0;
  return TimeMs{timegm(&parts)} * kSecondMs;
}

}  // namespace

Result<std::string> read_text(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) return file_error(file, "want a readable file");
  return text.str();
}

Result<TlsMaterial> load_tls(const std::string& cert_file, const std::string& key_file) {
  auto cert_pem = read_text(cert_file);
  if (!cert_pem.ok()) return cert_pem.error();
  auto key_pem = read_text(key_file);
  if (!key_pem.ok()) return key_pem.error();
  const Bio cert_bio = memory(*cert_pem), key_bio = memory(*key_pem);
  const Certificate cert(PEM_read_bio_X509(cert_bio.get(), nullptr, nullptr, nullptr), &X509_free);
  if (!cert) return file_error(cert_file, "want a certificate in PEM");
  const auto no_password = [](char*, int, int, void*) { return -1; };
  const Key key(PEM_read_bio_PrivateKey(key_bio.get(), nullptr, no_password, nullptr),
                &EVP_PKEY_free);
  if (!key) return file_error(key_file, "want a private key in PEM, without a password");
  if (X509_check_private_key(cert.get(), key.get()) != 1) {
    return file_error(key_file, "want the private key of " + cert_file);
  }
  return TlsMaterial{std::move(cert_pem).value(), std::move(key_pem).value(),
                     to_time(X509_get0_notAfter(cert.get()))};
}

CertificateStore::CertificateStore(CertificateFiles files, OnError on_error, Renew renew)
    : files_(std::move(files)), on_error_(std::move(on_error)), renew_(std::move(renew)) {}

CertificateStore::Stamp CertificateStore::stamp_of(const std::string& file) {
  struct stat s {};
  if (::stat(file.c_str(), &s) != 0) return {};
  return {s.st_ino, s.st_size, std::int64_t{s.st_mtim.tv_sec} * 1'000'000'000 + s.st_mtim.tv_nsec};
}

Result<std::shared_ptr<CertificateStore>> CertificateStore::open(CertificateFiles files,
                                                                 OnError on_error, Renew renew) {
  std::shared_ptr<CertificateStore> store(
      new CertificateStore(std::move(files), std::move(on_error), std::move(renew)));
  store->seen_ = {stamp_of(store->files_.cert), stamp_of(store->files_.key)};
  auto material = load_tls(store->files_.cert, store->files_.key);
  if (!material.ok()) return material.error();
  store->expires_at_ms_ = material->expires_at_ms;
  const MutexLock lock(store->mutex_);  // no other thread has it yet
  store->current_ = std::make_shared<const TlsMaterial>(std::move(material).value());
  return store;
}

bool CertificateStore::poll() {
  if (renew_) renew_();
  const Stamps now{stamp_of(files_.cert), stamp_of(files_.key)};
  if (now == seen_) return false;
  seen_ = now;
  auto material = load_tls(files_.cert, files_.key);
  if (!material.ok()) {
    if (on_error_) on_error_(material.error());
    return false;
  }
  expires_at_ms_ = material->expires_at_ms;
  const MutexLock lock(mutex_);
  current_ = std::make_shared<const TlsMaterial>(std::move(material).value());
  return true;
}

std::shared_ptr<const TlsMaterial> CertificateStore::current() const {
  const MutexLock lock(mutex_);
  return current_;
}

}  // namespace subak
