#include "net/self_signed.h"

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>

#include "core/limits.h"
#include "net/certificate_bundle.h"

namespace subak {
namespace {

using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;

TimeMs to_time(const ASN1_TIME* t) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(t, &parts) != 1) return 0;
  return TimeMs{timegm(&parts)} * kSecondMs;
}

// Reads the certificates of a PEM text, up to the first invalid one.
std::vector<Certificate> read_certificates(const std::string& pem) {
  std::vector<Certificate> out;
  const Bio bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), &BIO_free);
  while (X509* const one = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)) {
    out.emplace_back(one, &X509_free);
  }
  ERR_clear_error();
  return out;
}

std::string pem_of(X509* certificate) {
  const Bio bio(BIO_new(BIO_s_mem()), &BIO_free);
  PEM_write_bio_X509(bio.get(), certificate);
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

// Replaces the file: a reader sees the old file or the new one, never half of it.
bool write_file(const std::string& file, const std::string& text) {
  const std::string next = file + ".new";
  ::unlink(next.c_str());
  const int fd = ::open(next.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  const auto written = ::write(fd, text.data(), text.size());
  if (written >= 0 && written < static_cast<ssize_t>(text.size())) errno = ENOSPC;
  const bool ok = written == static_cast<ssize_t>(text.size()) && ::fsync(fd) == 0;
  return ::close(fd) == 0 && ok && ::rename(next.c_str(), file.c_str()) == 0;
}

class Folder {
 public:
  Folder(const std::string& directory, const std::vector<std::string>& names, TimeMs now)
      : directory_(directory), names_(names), now_(now) {}

  Result<SelfSigned> keep() {
    std::error_code ignored;
    std::filesystem::create_directories(directory_, ignored);
    out_.files = {directory_ + "/tls.crt", directory_ + "/tls.key", directory_ + "/ca.crt"};
    read();
    std::optional<Error> error;
    if (!usable()) {
      error = next_ ? change() : make();
    } else if (next_ && next_->cert_pem == pair_->cert_pem) {
      remove_next();  // the last change was interrupted after it was done
    } else if (pair_->expires_at_ms <= now_ + limits::kNextCaMs) {
      error = renew();
    } else {
      error = forget();
    }
    if (error) return *error;
    name_missing();
    return std::move(out_);
  }

 private:
  void read() {
    auto pair = load_tls(out_.files.cert, out_.files.key);
    if (pair) pair_ = std::move(pair).value();
    const auto text = read_text(out_.files.ca);
    if (text) bundle_ = read_certificates(*text);
    auto next = load_tls(next_cert(), next_key());
    if (next && next->expires_at_ms > now_ && is_trusted(next->cert_pem)) {
      next_ = std::move(next).value();
    }
  }

  bool usable() const { return pair_ && pair_->expires_at_ms > now_ && !bundle_.empty(); }

  static bool vouches(const Certificate& ca, const std::string& cert_pem) {
    const auto chain = read_certificates(cert_pem);
    const bool good =
        !chain.empty() && X509_verify(chain.front().get(), X509_get0_pubkey(ca.get())) == 1;
    ERR_clear_error();
    return good;
  }

  bool is_trusted(const std::string& cert_pem) const {
    return std::any_of(bundle_.begin(), bundle_.end(),
                       [&](const Certificate& ca) { return vouches(ca, cert_pem); });
  }

  // Writes the key first: a crash in between leaves a pair that does not match, which the next look
  // ignores.
  std::optional<Error> make() {
    const auto made = make_certificate_bundle(names_, now_);
    if (!made) return made.error();
    remove_next();
    if (!write_file(out_.files.key, made->key_pem) ||
        !write_file(out_.files.cert, made->cert_pem) || !write_file(out_.files.ca, made->ca_pem)) {
      return unwritable();
    }
    out_.did = SelfSigned::Did::kMade;
    return std::nullopt;
  }

  std::optional<Error> renew() {
    if (!next_) {
      if (auto error = announce()) return error;
    }
    out_.change_ms = change_ms();
    return now_ >= out_.change_ms ? change() : std::nullopt;
  }

  // Writes ca.crt last: a next pair counts only if ca.crt has its CA.
  std::optional<Error> announce() {
    const auto made = make_certificate_bundle(names_, now_);
    if (!made) return made.error();
    std::string bundle = made->ca_pem;
    for (const Certificate& ca : bundle_) {
      if (vouches(ca, pair_->cert_pem)) bundle += pem_of(ca.get());
    }
    if (!write_file(next_key(), made->key_pem) || !write_file(next_cert(), made->cert_pem) ||
        !write_file(out_.files.ca, bundle)) {
      return unwritable();
    }
    auto next = load_tls(next_cert(), next_key());
    if (!next) return next.error();
    next_ = std::move(next).value();
    out_.did = SelfSigned::Did::kAnnounced;
    return std::nullopt;
  }

  TimeMs change_ms() const {
    const auto chain = read_certificates(next_->cert_pem);
    const TimeMs announced = to_time(X509_get0_notBefore(chain.front().get())) + kClockSlackMs;
    const TimeMs usual =
        std::max(pair_->expires_at_ms, announced + 2 * limits::kNextPairMs) - limits::kNextPairMs;
    return std::min(usual, pair_->expires_at_ms - limits::kLastPairMs);
  }

  std::optional<Error> change() {
    if (!write_file(out_.files.key, next_->key_pem) ||
        !write_file(out_.files.cert, next_->cert_pem)) {
      return unwritable();
    }
    remove_next();
    pair_ = std::move(next_);
    out_.did = SelfSigned::Did::kChanged;
    out_.change_ms = 0;
    return std::nullopt;
  }

  std::optional<Error> forget() {
    std::string bundle;
    std::size_t kept = 0;
    for (const Certificate& ca : bundle_) {
      if (to_time(X509_get0_notAfter(ca.get())) <= now_) continue;
      bundle += pem_of(ca.get());
      ++kept;
    }
    if (kept == 0 || kept == bundle_.size()) return std::nullopt;
    if (!write_file(out_.files.ca, bundle)) return unwritable();
    out_.did = SelfSigned::Did::kForgot;
    return std::nullopt;
  }

  void name_missing() {
    const auto pair = load_tls(out_.files.cert, out_.files.key);
    const auto chain = pair ? read_certificates(pair->cert_pem) : std::vector<Certificate>();
    if (chain.empty()) return;
    for (const std::string& name : names_) {
      if (name.empty()) continue;
      const bool has =
          X509_check_ip_asc(chain.front().get(), name.c_str(), 0) == 1 ||
          X509_check_host(chain.front().get(), name.data(), name.size(), 0, nullptr) == 1;
      if (!has) out_.missing.push_back(name);
    }
    ERR_clear_error();
  }

  void remove_next() const {
    ::unlink(next_cert().c_str());
    ::unlink(next_key().c_str());
  }

  Error unwritable() const {
    return {ErrorCode::kInvalid, directory_, std::strerror(errno),
            "want a folder that can be written, on a disk with room"};
  }
  std::string next_cert() const { return directory_ + "/next.crt"; }
  std::string next_key() const { return directory_ + "/next.key"; }

  const std::string& directory_;
  const std::vector<std::string>& names_;
  const TimeMs now_;
  std::optional<TlsMaterial> pair_, next_;
  std::vector<Certificate> bundle_;
  SelfSigned out_;
};

}  // namespace

Result<SelfSigned> keep_self_signed(const std::string& directory,
                                    const std::vector<std::string>& names, TimeMs now) {
  return Folder(directory, names, now).keep();
}

}  // namespace subak
