#include "admission/certificates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

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

TEST(SelfSigned, KeepsAGoodPairAndReplacesAnOldOne) {
  const TempDir dir;
  const auto first = ensure_self_signed(dir.path, {}, kNow);
  ASSERT_TRUE(first.ok());
  const std::string cert = slurp(first->cert);
  ASSERT_TRUE(ensure_self_signed(dir.path, {}, kNow + 3600 * kDayMs).ok());
  EXPECT_EQ(slurp(first->cert), cert);
  ASSERT_TRUE(ensure_self_signed(dir.path, {}, kNow + 3621 * kDayMs).ok());
  EXPECT_NE(slurp(first->cert), cert);
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

TEST(CertificateStore, DoesNotOpenWithoutAPair) {
  EXPECT_FALSE(CertificateStore::open({"/nonexistent/c", "/nonexistent/k", ""}, nullptr).ok());
}

}  // namespace
}  // namespace subak
