// Who may call: the token file, roles, TLS, where the server agrees to listen;
// health and reflection.
#include <grpcpp/generic/generic_stub.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "api_fixture.h"
#include "core/printable.h"
#include "server/api/common/auth.h"
#include "tests/core/odd_names.h"

namespace subak {
namespace {

// A self-signed certificate for 127.0.0.1.
void write_certificate(const std::string& cert_path, const std::string& key_path) {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* cert = X509_new();
  X509_set_version(cert, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(cert), 1);
  X509_gmtime_adj(X509_getm_notBefore(cert), -3600);
  X509_gmtime_adj(X509_getm_notAfter(cert), 24 * 3600);
  X509_set_pubkey(cert, key);
  X509_NAME* name = X509_get_subject_name(cert);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("subak test"), -1, -1, 0);
  X509_set_issuer_name(cert, name);
  X509_EXTENSION* names =
      X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, "IP:127.0.0.1,DNS:localhost");
  X509_add_ext(cert, names, -1);
  X509_EXTENSION_free(names);
  X509_sign(cert, key, EVP_sha256());
  FILE* out = std::fopen(cert_path.c_str(), "w");
  PEM_write_X509(out, cert);
  std::fclose(out);
  out = std::fopen(key_path.c_str(), "w");
  PEM_write_PrivateKey(out, key, nullptr, nullptr, 0, nullptr, nullptr);
  std::fclose(out);
  X509_free(cert);
  EVP_PKEY_free(key);
}

std::string read_file(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

class ApiAuthTest : public ApiTokensTest {
 protected:
  ApiAuthTest() {
    options_.tls_cert = (dir_ / "cert.pem").string();
    options_.tls_key = (dir_ / "key.pem").string();
    write_certificate(options_.tls_cert, options_.tls_key);
  }
  void start_tls() {
    options_.address = "0.0.0.0:0";  // beyond loopback
    const auto error = try_start();
    ASSERT_FALSE(error) << error->message();
    grpc::SslCredentialsOptions tls;
    tls.pem_root_certs = read_file(options_.tls_cert);
    connect(grpc::CreateChannel("127.0.0.1:" + std::to_string(api_->port()),
                                grpc::SslCredentials(tls)));
  }
};

TEST_F(ApiAuthTest, NobodyCallsWithoutAToken) {
  start_tls();
  EXPECT_EQ(read().error_code(), grpc::UNAUTHENTICATED);
  token_ = "admin-token-0123";  // one byte short
  EXPECT_EQ(read().error_code(), grpc::UNAUTHENTICATED);
  EXPECT_EQ(create_account("ml").error_code(), grpc::UNAUTHENTICATED);
  EXPECT_EQ(denials_.size(), 3u);
  EXPECT_EQ(denials_[0].actor, "");
  grpc::ClientContext context;
  token_.clear();
  prepare(context);
  auto observe = clusters_->Observe(&context);
  EXPECT_EQ(observe->Finish().error_code(), grpc::UNAUTHENTICATED);
}

TEST_F(ApiAuthTest, TheSchemeIsInAnyCase) {
  start_tls();
  const auto read_as = [this](const std::string& scheme) {
    grpc::ClientContext context;
    prepare(context);
    context.AddMetadata("authorization", scheme + "admin-token-01234");
    v1::GetAccountRequest in;
    v1::Account out;
    return accounts_->GetAccount(&context, in, &out).error_code();
  };
  for (const char* scheme : {"Bearer ", "bearer ", "BEARER "}) {
    EXPECT_EQ(read_as(scheme), grpc::OK) << scheme;
  }
  for (const char* scheme : {"Basic ", "Bearer", ""}) {
    EXPECT_EQ(read_as(scheme), grpc::UNAUTHENTICATED) << scheme;
  }
}

TEST_F(ApiAuthTest, TheOwnProbeNeedsNeitherTlsNorToken) {
  start_tls();
  const ProbeResult result = api_->probe(60'000);
  EXPECT_EQ(result.kind, ProbeResult::Kind::kServes) << result.detail;
  EXPECT_TRUE(denials_.empty());
}

TEST_F(ApiAuthTest, PlaintextIsNotAnsweredWhereTlsIsSpoken) {
  start_tls();
  connect(grpc::CreateChannel("127.0.0.1:" + std::to_string(api_->port()),
                              grpc::InsecureChannelCredentials()));
  as_admin();
  EXPECT_EQ(read().error_code(), grpc::UNAVAILABLE);
}

// A renewed pair is used for new connections without a restart; the old one is known no more.
TEST_F(ApiAuthTest, ARenewedCertificateIsReadAgain) {
  start_tls();
  as_admin();
  EXPECT_TRUE(read().ok());
  const std::string was = read_file(options_.tls_cert);
  write_certificate(options_.tls_cert + ".new", options_.tls_key + ".new");
  std::filesystem::rename(options_.tls_key + ".new", options_.tls_key);
  std::filesystem::rename(options_.tls_cert + ".new", options_.tls_cert);
  grpc::SslCredentialsOptions tls;
  const auto answered_with = [&](const std::string& roots) {
    tls.pem_root_certs = roots;
    grpc::ChannelArguments own;  // not a connection that is open already
    own.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    connect(grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(api_->port()),
                                      grpc::SslCredentials(tls), own));
    return read().ok();
  };
  bool renewed = false;
  for (int i = 0; i < 300 && !renewed; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    renewed = answered_with(read_file(options_.tls_cert));
  }
  EXPECT_TRUE(renewed);
  EXPECT_FALSE(answered_with(was));
}

TEST_F(ApiAuthTest, ViewersReadOnly) {
  start_tls();
  as_viewer();
  EXPECT_TRUE(read().ok());
  EXPECT_EQ(create_account("ml").error_code(), grpc::PERMISSION_DENIED);
  v1::CreateJobResponse job;
  EXPECT_EQ(
      run([&](auto* c) { return jobs_->CreateJob(c, job_request("ml", 1, 1), &job); }).error_code(),
      grpc::PERMISSION_DENIED);
  EXPECT_EQ(import_nodes(1).error_code(), grpc::PERMISSION_DENIED);
  v1::ListAuditResponse audit;
  EXPECT_EQ(run([&](auto* c) { return admin_->ListAudit(c, {}, &audit); }).error_code(),
            grpc::PERMISSION_DENIED);
  grpc::ClientContext context;
  prepare(context);
  auto effects = clusters_->Effects(&context, {});
  EXPECT_EQ(effects->Finish().error_code(), grpc::PERMISSION_DENIED);
  EXPECT_EQ(denials_.front().actor, "token:eve");
}

TEST_F(ApiAuthTest, TeamAdminsStayInTheirSubtree) {
  start_tls();
  as_admin();
  ASSERT_TRUE(create_account("ml").ok());
  ASSERT_TRUE(create_account("bio").ok());
  ASSERT_TRUE(import_nodes(1).ok());
  const std::string foreign = submit(job_request("bio", 1, 8));
  as_team();
  EXPECT_TRUE(create_account("ml.vision").ok());
  EXPECT_EQ(create_account("bio.genes").error_code(), grpc::PERMISSION_DENIED);
  EXPECT_EQ(create_account("mlx").error_code(), grpc::PERMISSION_DENIED);
  v1::UpdateAccountRequest in;
  in.mutable_account()->set_path("ml");
  in.mutable_account()->set_shares(100);
  in.set_reason("more for us");
  const auto update = [&] {
    return run([&](auto* c) { return accounts_->UpdateAccount(c, in, &edited_); });
  };
  EXPECT_EQ(update().error_code(), grpc::PERMISSION_DENIED) << "their own top is not theirs";
  in.mutable_account()->set_path("ml.vision");
  EXPECT_TRUE(update().ok());
  in.mutable_account()->add_namespaces("kube-system");
  EXPECT_EQ(update().error_code(), grpc::PERMISSION_DENIED);
  const std::string own = submit(job_request("ml", 1, 8));
  v1::CancelJobRequest cancel;
  v1::EditJobResponse cancelled;
  cancel.set_job_id(foreign);
  EXPECT_EQ(run([&](auto* c) { return jobs_->CancelJob(c, cancel, &cancelled); }).error_code(),
            grpc::PERMISSION_DENIED);
  cancel.set_job_id(own);
  EXPECT_TRUE(run([&](auto* c) { return jobs_->CancelJob(c, cancel, &cancelled); }).ok());
  v1::BatchCreateJobsRequest batch;
  v1::BatchCreateJobsResponse results;
  *batch.add_requests() = job_request("bio", 1, 1);
  ASSERT_TRUE(run([&](auto* c) { return jobs_->BatchCreateJobs(c, batch, &results); }).ok());
  EXPECT_EQ(results.results(0).error().code(), grpc::PERMISSION_DENIED);
}

// A quota below an account without one would raise the guarantee of the whole team.
TEST_F(ApiAuthTest, TeamAdminsDivideAQuotaButDoNotMakeOne) {
  start_tls();
  as_admin();
  ASSERT_TRUE(create_account("ml").ok());
  ASSERT_TRUE(create_account("ml.vision").ok());
  v1::UpdateAccountRequest in;
  in.mutable_account()->set_path("ml.vision");
  auto* quota = in.mutable_account()->add_quota();
  quota->set_product("gpu");
  quota->set_milligpu(4000);
  in.set_reason("r");
  const auto update = [&] {
    return run([&](auto* c) { return accounts_->UpdateAccount(c, in, &edited_); });
  };
  as_team();
  EXPECT_EQ(update().error_code(), grpc::PERMISSION_DENIED);
  as_admin();
  in.mutable_account()->set_path("ml");
  EXPECT_TRUE(update().ok());
  as_team();
  in.mutable_account()->set_path("ml.vision");
  EXPECT_TRUE(update().ok());
}

// A bound that the same edit takes away would bound nothing.
TEST_F(ApiAuthTest, TeamAdminsDoNotMakeAQuotaByAnEditOfSeveralAccounts) {
  start_tls();
  as_admin();
  const auto set = [](v1::ApplyAccountsRequest& in, const std::string& path, std::int64_t quota) {
    v1::AccountChange* const change = in.add_changes();
    change->mutable_account()->set_path(path);
    change->mutable_update_mask()->add_paths("quota");
    if (quota == 0) return;
    auto* amount = change->mutable_account()->add_quota();
    amount->set_product("gpu");
    amount->set_milligpu(quota);
  };
  const auto apply = [&](const v1::ApplyAccountsRequest& in) {
    v1::ApplyAccountsResponse out;
    return run([&](auto* c) { return accounts_->ApplyAccounts(c, in, &out); }).error_code();
  };
  v1::ApplyAccountsRequest tree;
  tree.set_reason("r");
  set(tree, "ml", 0);
  set(tree, "ml.vision", 4000);
  set(tree, "ml.vision.a", 0);
  set(tree, "bio", 0);
  ASSERT_EQ(apply(tree), grpc::OK);
  as_team();
  v1::ApplyAccountsRequest in;
  in.set_reason("r");
  set(in, "ml.vision.a", 4000);
  EXPECT_EQ(apply(in), grpc::OK) << "the quota of ml.vision bounds it";
  v1::ApplyAccountsRequest more = in;
  set(more, "ml.vision", 0);
  EXPECT_EQ(apply(more), grpc::PERMISSION_DENIED);
  set(in, "bio", 0);
  EXPECT_EQ(apply(in), grpc::PERMISSION_DENIED);
  set(tree, "ml.b", 0);
  EXPECT_EQ(apply(tree), grpc::PERMISSION_DENIED) << "ml itself is not theirs";
}

TEST_F(ApiAuthTest, ReloadTakesNewTokensAndKeepsOldOnesOnAMistake) {
  start_tls();
  as_admin();
  std::ofstream(options_.token_file) << "short admin x\n";
  EXPECT_TRUE(api_->reload_tokens());
  EXPECT_TRUE(read().ok());
  std::ofstream(options_.token_file) << "another-admin-token admin zoe\n";
  EXPECT_FALSE(api_->reload_tokens());
  EXPECT_EQ(read().error_code(), grpc::UNAUTHENTICATED);
  token_ = "another-admin-token";
  EXPECT_TRUE(read().ok());
}

TEST_F(ApiAuthTest, BeyondLoopbackNeedsTlsAndTokens) {
  options_.address = "0.0.0.0:0";
  const std::string cert = options_.tls_cert, key = options_.tls_key;
  options_.tls_cert = options_.tls_key = "";
  auto error = try_start();
  ASSERT_TRUE(error);
  EXPECT_EQ(error->field, "listenGrpc");
  runtime_->stop();
  follower_->stop();
}

TEST_F(ApiAuthTest, BeyondLoopbackNeedsTokensToo) {
  options_.address = "0.0.0.0:0";
  options_.token_file = "";
  const auto error = try_start();
  ASSERT_TRUE(error);
  EXPECT_EQ(error->field, "listenGrpc");
}

TEST_F(ApiAuthTest, LoopbackWithTokensAsksForThem) {
  options_.tls_cert = options_.tls_key = "";
  start();
  EXPECT_EQ(read().error_code(), grpc::UNAUTHENTICATED);
  as_viewer();
  EXPECT_TRUE(read().ok());
}

TEST_F(ApiAuthTest, BadFilesStopTheStart) {
  std::ofstream(options_.token_file) << "viewer-token-0123 viewer eve\nnonsense\n";
  const auto error = try_start();
  ASSERT_TRUE(error);
  EXPECT_EQ(error->field, "tokens:2");
}

// The health protocol without generated code: HealthCheckResponse{status = SERVING} is 08 01.
std::string ask_health(const std::shared_ptr<grpc::Channel>& channel) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
  grpc::CompletionQueue queue;
  grpc::GenericStub stub(channel);
  const grpc::Slice nothing{std::string()};  // HealthCheckRequest{}: the whole server
  auto call = stub.PrepareUnaryCall(&context, "/grpc.health.v1.Health/Check",
                                    grpc::ByteBuffer(&nothing, 1), &queue);
  call->StartCall();
  grpc::ByteBuffer reply;
  grpc::Status status;
  call->Finish(&reply, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  if (!status.ok()) return status.error_message();
  std::vector<grpc::Slice> slices;
  std::string bytes;
  if (!reply.Dump(&slices).ok()) return "unreadable";
  for (const auto& slice : slices)
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return bytes;
}

TEST_F(ApiAuthTest, HealthNeedsNoTokenAndFollowsServing) {
  start_tls();
  EXPECT_EQ(ask_health(channel_), std::string("\x08\x01"));
  api_->set_serving(false);
  EXPECT_EQ(ask_health(channel_), std::string("\x08\x02"));
  api_->set_serving(true);
  EXPECT_EQ(ask_health(channel_), std::string("\x08\x01"));
}

// ServerReflectionRequest{list_services = "*"} is 3a 01 2a; the names are text in the answer.
TEST_F(ApiAuthTest, ReflectionListsTheServices) {
  start_tls();
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
  grpc::CompletionQueue queue;
  grpc::GenericStub stub(channel_);
  auto call = stub.PrepareCall(
      &context, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", &queue);
  void* tag = nullptr;
  bool ok = false;
  call->StartCall(nullptr);
  ASSERT_TRUE(queue.Next(&tag, &ok) && ok);
  const grpc::Slice slice(std::string("\x3a\x01\x2a"));
  call->Write(grpc::ByteBuffer(&slice, 1), nullptr);
  ASSERT_TRUE(queue.Next(&tag, &ok) && ok);
  grpc::ByteBuffer reply;
  call->Read(&reply, nullptr);
  ASSERT_TRUE(queue.Next(&tag, &ok) && ok);
  std::vector<grpc::Slice> slices;
  std::string bytes;
  ASSERT_TRUE(reply.Dump(&slices).ok());
  for (const auto& s : slices) bytes.append(reinterpret_cast<const char*>(s.begin()), s.size());
  for (const char* name : {"AccountService", "JobService", "ClusterService", "UsageService",
                           "AdminService", "PolicyService"}) {
    EXPECT_NE(bytes.find(std::string("subak.v1.") + name), std::string::npos) << name;
  }
  EXPECT_EQ(bytes.find("LeaseService"), std::string::npos) << "of a later version";
  context.TryCancel();
  grpc::Status status;
  call->Finish(&status, nullptr);
  queue.Next(&tag, &ok);
}

TEST(TokensTest, EachMistakeNamesItsLine) {
  const auto field_of = [](const char* text) {
    const auto tokens = api::parse_tokens(text);
    return tokens.ok() ? std::string("accepted") : tokens.error().field;
  };
  EXPECT_EQ(field_of("0123456789abcdef admin ada\n"), "accepted");
  EXPECT_EQ(field_of("0123456789abcdef admin ada"), "accepted");
  EXPECT_EQ(field_of(""), "tokens:0");
  EXPECT_EQ(field_of("\n0123456789abcdef admin\n"), "tokens:2");
  EXPECT_EQ(field_of("0123456789abcde admin ada\n"), "tokens:1");
  EXPECT_EQ(field_of("0123456789abcdef king ada\n"), "tokens:1");
  EXPECT_EQ(field_of("0123456789abcdef team-admin ada\n"), "tokens:1");
  EXPECT_EQ(field_of("0123456789abcdef admin ml ada\n"), "tokens:1");
  EXPECT_EQ(field_of("0123456789abcdef admin a\n0123456789abcdef admin b\n"), "tokens:2");
  EXPECT_EQ(field_of("0123456789abcdef admin a\n0123456789abcdeg admin a\n"), "tokens:2");
}

TEST(TokensTest, NamesArePrintable) {
  for (const test::OddName& name : test::kOddNames) {
    if (name.text.find_first_of(" \t\r\n") != std::string_view::npos) continue;
    const auto tokens = api::parse_tokens("0123456789abcdef admin " + std::string(name.text));
    EXPECT_EQ(tokens.ok(), name.printable) << printable(name.text);
    EXPECT_TRUE(tokens.ok() || is_printable(tokens.error().message()));
  }
}

// What a caller shows is looked up by its digest: nothing is compared with each token, and what is
// too long to be one is not even hashed.
TEST(TokensTest, AreKeptAndFoundByDigest) {
  const auto tokens =
      api::parse_tokens("0123456789abcdef admin ada\nfedcba9876543210 viewer eve\n");
  ASSERT_TRUE(tokens.ok());
  ASSERT_EQ(tokens->size(), 2u);
  EXPECT_EQ(tokens->at(api::digest_of("fedcba9876543210")).actor, "token:eve");
  EXPECT_EQ(tokens->count(api::digest_of("fedcba987654321")), 0u);
  const std::string longest(limits::kMaxTokenBytes, 'x');
  EXPECT_TRUE(api::parse_tokens(longest + " admin ada\n").ok());
  EXPECT_EQ(api::parse_tokens(longest + "x admin ada\n").error().field, "tokens:1");
}

TEST(TokensTest, SecretsAreNotInErrors) {
  const auto tokens = api::parse_tokens("secret-secret-secret king ada\n");
  ASSERT_FALSE(tokens.ok());
  EXPECT_EQ(tokens.error().message().find("secret"), std::string::npos);
}

}  // namespace
}  // namespace subak
