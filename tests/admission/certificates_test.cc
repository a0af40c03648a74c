#include "net/certificates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "core/limits.h"
#include "net/self_signed.h"

namespace subak {
namespace {

constexpr TimeMs kNow = 1'790'000'000'000;  // in 2026

struct TempDir {
  TempDir() {
    std::string name = std::filesystem::temp_directory_path() / "subak-certs-XXXXXX";
    path = mkdtemp(name.data());
  }
  ~TempDir() { std::filesystem::remove_all(path); }
  std::string path;
};

std::string slurp(const std::string& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}
void spill(const std::string& file, const std::string& text) {
  std::ofstream(file + ".t") << text;
  std::filesystem::rename(file + ".t", file);
}

std::unique_ptr<X509, decltype(&X509_free)> read_cert(const std::string& file) {
  const std::string pem = slurp(file);
  BIO* bio = BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
  X509* cert = PEM_read_bio_X509(bio, nullptr, nullptr, nullptr);
  BIO_free(bio);
  return {cert, &X509_free};
}

using Did = SelfSigned::Did;

// The files of a pair that is made or kept.
Result<CertificateFiles> ensure_self_signed(const std::string& directory,
                                            const std::vector<std::string>& names, TimeMs now) {
  const auto kept = keep_self_signed(directory, names, now);
  if (!kept.ok()) return kept.error();
  return kept->files;
}

// Would somebody who trusts `bundle` alone talk to who shows `cert`, at `now`?
bool trusts(const std::string& bundle, const std::string& cert, TimeMs now) {
  X509_STORE* store = X509_STORE_new();
  BIO* bio = BIO_new_mem_buf(bundle.data(), static_cast<int>(bundle.size()));
  while (X509* ca = PEM_read_bio_X509(bio, nullptr, nullptr, nullptr)) {
    X509_STORE_add_cert(store, ca);
    X509_free(ca);
  }
  BIO_free(bio);
  bio = BIO_new_mem_buf(cert.data(), static_cast<int>(cert.size()));
  X509* leaf = PEM_read_bio_X509(bio, nullptr, nullptr, nullptr);
  BIO_free(bio);
  X509_STORE_CTX* context = X509_STORE_CTX_new();
  X509_STORE_CTX_init(context, store, leaf, nullptr);
  X509_STORE_CTX_set_time(context, 0, now / kSecondMs);
  const bool ok = X509_verify_cert(context) == 1;
  X509_STORE_CTX_free(context);
  X509_free(leaf);
  X509_STORE_free(store);
  return ok;
}

std::size_t certificates_in(const std::string& pem) {
  std::size_t n = 0;
  for (auto at = pem.find("BEGIN CERT"); at != std::string::npos;
       at = pem.find("BEGIN CERT", at + 1))
    ++n;
  return n;
}

TEST(SelfSigned, MakesAChainForItsNames) {
  const TempDir dir;
  const auto files = ensure_self_signed(dir.path + "/tls", {"gpu.example.com", "10.1.2.3"}, kNow);
  ASSERT_TRUE(files.ok()) << files.error().message();
  const auto leaf = read_cert(files->cert);
  const auto ca = read_cert(files->ca);
  ASSERT_TRUE(leaf && ca);
  for (const char* host : {"localhost", "subak.subak-system.svc", "gpu.example.com"}) {
    EXPECT_EQ(X509_check_host(leaf.get(), host, 0, 0, nullptr), 1) << host;
  }
  for (const char* ip : {"127.0.0.1", "::1", "10.1.2.3"}) {
    EXPECT_EQ(X509_check_ip_asc(leaf.get(), ip, 0), 1) << ip;
  }
  EXPECT_EQ(X509_check_host(leaf.get(), "example.com", 0, 0, nullptr), 0);
  EXPECT_EQ(X509_verify(leaf.get(), X509_get0_pubkey(ca.get())), 1);
  EXPECT_EQ(X509_check_ca(ca.get()), 1);
  EXPECT_EQ(X509_check_ca(leaf.get()), 0);
  for (const std::string& f : {files->cert, files->key, files->ca}) {
    struct stat s {};
    ASSERT_EQ(stat(f.c_str(), &s), 0);
    EXPECT_EQ(s.st_mode & 0777, 0600u) << f;
  }
  const auto pair = load_tls(files->cert, files->key);
  ASSERT_TRUE(pair.ok());
  EXPECT_EQ(pair->expires_at_ms, kNow / 1000 * 1000 + 3650 * kDayMs);
}

constexpr DurationMs kLife = limits::kOwnCaMs;

// The folder over the years.
class Years : public ::testing::Test {
 protected:
  SelfSigned at(DurationMs since_start) {
    auto kept = keep_self_signed(dir_.path, {"10.1.2.3"}, kNow + since_start);
    EXPECT_TRUE(kept.ok());
    return kept.ok() ? std::move(kept).value() : SelfSigned();
  }
  std::string text(const std::string& name) const { return slurp(dir_.path + "/" + name); }
  bool has(const std::string& name) const {
    return std::filesystem::exists(dir_.path + "/" + name);
  }

  const TempDir dir_;
};

TEST_F(Years, TheNextCaIsAnnouncedThenUsedThenAlone) {
  EXPECT_EQ(at(0).did, Did::kMade);
  const std::string ca = text("ca.crt"), cert = text("tls.crt");
  EXPECT_EQ(at(kLife - limits::kNextCaMs - kDayMs).did, Did::kNothing);
  EXPECT_EQ(at(0).change_ms, 0);

  const DurationMs announced = kLife - limits::kNextCaMs;
  SelfSigned now = at(announced);
  EXPECT_EQ(now.did, Did::kAnnounced);
  EXPECT_EQ(now.change_ms, kNow / 1000 * 1000 + kLife - limits::kNextPairMs);
  const std::string both = text("ca.crt");
  EXPECT_EQ(text("tls.crt"), cert);
  EXPECT_EQ(certificates_in(both), 2u);
  EXPECT_TRUE(trusts(both, cert, kNow + announced));
  EXPECT_TRUE(trusts(both, text("next.crt"), kNow + announced));
  EXPECT_FALSE(trusts(ca, text("next.crt"), kNow + announced));

  now = at(kLife - limits::kNextPairMs - kDayMs);
  EXPECT_EQ(now.did, Did::kNothing);
  EXPECT_NE(now.change_ms, 0);
  EXPECT_EQ(text("ca.crt"), both);

  const DurationMs changed = kLife - limits::kNextPairMs;
  now = at(changed);
  EXPECT_EQ(now.did, Did::kChanged);
  EXPECT_EQ(now.change_ms, 0);
  EXPECT_NE(text("tls.crt"), cert);
  EXPECT_TRUE(load_tls(now.files.cert, now.files.key).ok());
  EXPECT_TRUE(trusts(both, text("tls.crt"), kNow + changed));
  EXPECT_EQ(X509_check_ip_asc(read_cert(now.files.cert).get(), "10.1.2.3", 0), 1);
  EXPECT_FALSE(has("next.crt") || has("next.key"));

  EXPECT_EQ(at(kLife - kDayMs).did, Did::kNothing);
  EXPECT_EQ(text("ca.crt"), both);
  EXPECT_EQ(at(kLife + kDayMs).did, Did::kForgot);
  EXPECT_EQ(certificates_in(text("ca.crt")), 1u);
  EXPECT_TRUE(trusts(text("ca.crt"), text("tls.crt"), kNow + kLife + kDayMs));
  EXPECT_EQ(at(kLife + 2 * kDayMs).did, Did::kNothing);
}

TEST_F(Years, WhoWasAwayGivesPeopleTheTimeThatIsLeft) {
  at(0);
  SelfSigned now = at(kLife - 100 * kDayMs);  // late: not yet at its usual time
  EXPECT_EQ(now.change_ms, kNow / 1000 * 1000 + kLife - 10 * kDayMs);
  EXPECT_EQ(at(kLife - 11 * kDayMs).did, Did::kNothing);
  EXPECT_EQ(at(kLife - 10 * kDayMs).did, Did::kChanged);
}

TEST_F(Years, TheLastDayIsTheLast) {
  at(0);
  const SelfSigned now = at(kLife - 20 * kDayMs);
  EXPECT_EQ(now.change_ms, kNow / 1000 * 1000 + kLife - limits::kLastPairMs);
  EXPECT_EQ(at(kLife - limits::kLastPairMs).did, Did::kChanged);
}

TEST_F(Years, WhatHasEndedIsMadeAnewAndWhatWasAnnouncedIsUsed) {
  at(0);
  EXPECT_EQ(at(kLife + kDayMs).did, Did::kMade);
  EXPECT_EQ(certificates_in(text("ca.crt")), 1u);
  at(2 * kLife - 100 * kDayMs);  // announced
  const std::string both = text("ca.crt");
  EXPECT_EQ(at(2 * kLife + 2 * kDayMs).did, Did::kChanged);
  EXPECT_TRUE(trusts(both, text("tls.crt"), kNow + 2 * kLife + 2 * kDayMs));
}

TEST_F(Years, AChangeThatIsCutShortIsFinished) {
  at(0);
  const DurationMs announced = kLife - limits::kNextCaMs;
  at(announced);
  const std::string both = text("ca.crt"), next = text("next.crt");
  spill(dir_.path + "/tls.key", text("next.key"));  // and the power goes
  EXPECT_EQ(at(announced).did, Did::kChanged);
  EXPECT_EQ(text("tls.crt"), next);
  EXPECT_EQ(text("ca.crt"), both);
  spill(dir_.path + "/next.crt", next);  // it went later
  spill(dir_.path + "/next.key", text("tls.key"));
  EXPECT_EQ(at(announced).did, Did::kNothing);
  EXPECT_FALSE(has("next.crt") || has("next.key"));
}

TEST_F(Years, AnAnnouncementThatIsCutShortIsMadeAnew) {
  at(0);
  const std::string ca = text("ca.crt");
  const DurationMs announced = kLife - limits::kNextCaMs;
  at(announced);
  spill(dir_.path + "/ca.crt", ca);  // not yet written when the power went
  EXPECT_EQ(at(announced).did, Did::kAnnounced);
  EXPECT_TRUE(trusts(text("ca.crt"), text("next.crt"), kNow + announced));
  spill(dir_.path + "/next.key", "half a key");
  EXPECT_EQ(at(announced).did, Did::kAnnounced);
  EXPECT_EQ(certificates_in(text("ca.crt")), 2u) << "a next CA without its pair is of no use";
}

TEST_F(Years, AnAddressThatThePairDoesNotHaveIsNamed) {
  EXPECT_TRUE(at(0).missing.empty());
  const auto kept = keep_self_signed(dir_.path, {"10.9.9.9", "::1", "127.0.0.1", ""}, kNow);
  ASSERT_TRUE(kept.ok());
  EXPECT_EQ(kept->did, Did::kNothing);
  EXPECT_EQ(kept->missing, std::vector<std::string>{"10.9.9.9"});
}

TEST(SelfSigned, ReplacesABrokenPair) {
  const TempDir dir;
  const auto files = ensure_self_signed(dir.path, {}, kNow);
  ASSERT_TRUE(files.ok());
  spill(files->key, "half a key");
  ASSERT_TRUE(ensure_self_signed(dir.path, {}, kNow).ok());
  EXPECT_TRUE(load_tls(files->cert, files->key).ok());
}

TEST(SelfSigned, SaysWhenItCannotWrite) {
  const TempDir dir;
  spill(dir.path + "/file", "");
  EXPECT_FALSE(ensure_self_signed(dir.path + "/file/tls", {}, kNow).ok());
}

TEST(SelfSigned, NamesCannotSmuggleExtensions) {
  const TempDir dir;
  const auto files = ensure_self_signed(dir.path, {"a,IP:9.9.9.9", "b;c", ""}, kNow);
  ASSERT_TRUE(files.ok());
  EXPECT_EQ(X509_check_ip_asc(read_cert(files->cert).get(), "9.9.9.9", 0), 0);
}

TEST(LoadTls, NamesTheFileAtFault) {
  const TempDir a, b;
  const auto fa = ensure_self_signed(a.path, {}, kNow), fb = ensure_self_signed(b.path, {}, kNow);
  EXPECT_EQ(load_tls(a.path + "/none", fa->key).error().field, a.path + "/none");
  EXPECT_EQ(load_tls(fa->cert, a.path + "/none").error().field, a.path + "/none");
  EXPECT_EQ(load_tls(fa->key, fa->key).error().field, fa->key);
  EXPECT_EQ(load_tls(fa->cert, fa->cert).error().field, fa->cert);
  EXPECT_THAT(load_tls(fa->cert, fb->key).error().message(),
              ::testing::HasSubstr("private key of"));
}

TEST(CertificateStore, TakesOverANewPairOnlyWhenItFits) {
  const TempDir a, b;
  const auto fa = ensure_self_signed(a.path, {}, kNow);
  const auto fb = ensure_self_signed(b.path, {}, kNow + kDayMs);
  std::vector<Error> errors;
  auto store = CertificateStore::open(*fa, [&](const Error& e) { errors.push_back(e); });
  ASSERT_TRUE(store.ok());
  CertificateStore& s = **store;
  const auto before = s.current();
  EXPECT_FALSE(s.poll());

  spill(fa->cert, slurp(fb->cert));  // the certificate alone does not fit the old key
  EXPECT_FALSE(s.poll());
  EXPECT_EQ(s.current(), before);
  EXPECT_EQ(errors.size(), 1u);
  EXPECT_FALSE(s.poll());
  EXPECT_EQ(errors.size(), 1u) << "told once for each change";

  spill(fa->key, slurp(fb->key));
  EXPECT_TRUE(s.poll());
  EXPECT_EQ(s.current()->cert_pem, slurp(fb->cert));
  EXPECT_EQ(s.expires_at_ms(), before->expires_at_ms + kDayMs);

  std::filesystem::remove(fa->key);
  EXPECT_FALSE(s.poll());
  EXPECT_EQ(errors.size(), 2u);
  EXPECT_EQ(s.current()->cert_pem, slurp(fb->cert));
}

TEST(CertificateStore, WhoMakesTheFilesIsAskedBeforeTheyAreLookedAt) {
  const TempDir dir;
  const auto files = ensure_self_signed(dir.path, {}, kNow);
  TimeMs now = kNow;
  auto store =
      CertificateStore::open(*files, nullptr, [&] { (void)keep_self_signed(dir.path, {}, now); });
  ASSERT_TRUE(store.ok());
  EXPECT_FALSE((*store)->poll());
  now = kNow + kLife + kDayMs;
  EXPECT_TRUE((*store)->poll());
}

TEST(CertificateStore, DoesNotOpenWithoutAPair) {
  EXPECT_FALSE(CertificateStore::open({"/nonexistent/c", "/nonexistent/k", ""}, nullptr).ok());
}

}  // namespace
}  // namespace subak
