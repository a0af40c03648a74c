// Reads the certificate of a listener from files, and replaces it by a new one while the listener
// serves. CertificateStore watches the files; the listener polls it (net/listener.h). If no files
// are configured, net/self_signed.h makes them.
// Threads: any thread may read a CertificateStore while one thread polls it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/quantity.h"
#include "threads/mutex.h"

namespace subak {

// Paths of the files of a certificate.
struct CertificateFiles {
  // The file with the certificate: PEM, the leaf first, then its chain.
  std::string cert;
  // The file with the key of that certificate: PEM, without a password.
  std::string key;
  // The file with the CA certificates in PEM, for the webhook's caBundle. Empty: an operator
  // configured the certificate, and Subak does not know its CA.
  std::string ca;
};

// A certificate and the matching key, as PEM.
struct TlsMaterial {
  // The complete file: the leaf and then its chain.
  std::string cert_pem;
  // The private key; never written to a log.
  std::string key_pem;
  // The end of the leaf's validity (notAfter). The chain may end earlier.
  TimeMs expires_at_ms = 0;
};

// Returns the content of the file. An error names the file.
Result<std::string> read_text(const std::string& file);

// Reads and checks a pair of certificate and key. An error names the file that is missing, is not
// PEM, or has the key of another certificate.
Result<TlsMaterial> load_tls(const std::string& cert_file, const std::string& key_file);

// Owns the pair of certificate and key that is in use. The store changes to a new pair on disk once
// both files are complete and match. Until then it uses the old pair, and calls `on_error` once for
// each change of the files.
class CertificateStore {
 public:
  // The type of a function that gets the error of a pair that could not be used. The function may
  // be empty.
  using OnError = std::function<void(const Error&)>;
  // The type of a function that may create or replace the files. Empty: other programs make the
  // files.
  using Renew = std::function<void()>;
  // Reads the pair for the first time, and fails with the errors of load_tls(). Each poll calls
  // `renew`, unless that is empty, before it reads the files.
  static Result<std::shared_ptr<CertificateStore>> open(CertificateFiles files, OnError on_error,
                                                        Renew renew = nullptr);

  // Checks the files (a few system calls) and reads them if they changed. True if the pair is new.
  // Calls `on_error` and `renew` on the calling thread. Threads: one at a time.
  bool poll();
  // Returns the pair in use, never nullptr. The pair stays valid after a change. Threads: any.
  std::shared_ptr<const TlsMaterial> current() const;
  // Returns when the pair in use expires. Threads: any.
  TimeMs expires_at_ms() const { return expires_at_ms_; }
  // The paths as given to open(). Threads: any.
  const CertificateFiles& files() const { return files_; }

 private:
  // The properties by which poll() detects a changed file. All 0: there is no file.
  struct Stamp {
    std::uint64_t inode = 0;
    std::int64_t size = 0, modified_ns = 0;
    friend bool operator==(const Stamp&, const Stamp&) = default;
  };
  struct Stamps {
    Stamp cert, key;
    friend bool operator==(const Stamps&, const Stamps&) = default;
  };
  CertificateStore(CertificateFiles files, OnError on_error, Renew renew);
  // Never fails: a file that cannot be examined counts as missing.
  static Stamp stamp_of(const std::string& file);

  // files_, on_error_ and renew_ never change after open().
  CertificateFiles files_;
  OnError on_error_;
  Renew renew_;
  // The files as of the last poll. Only the polling thread uses this member.
  Stamps seen_;
  mutable Mutex mutex_;
  std::shared_ptr<const TlsMaterial> current_ SUBAK_GUARDED_BY(mutex_);
  std::atomic<TimeMs> expires_at_ms_{0};
};

}  // namespace subak
