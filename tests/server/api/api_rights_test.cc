// What callers may do while they are connected: streams of tokens that are taken away, shares of
// streams, refusals in the audit log, the Unix socket, a token file that others can read.
#include <sys/socket.h>

#include <filesystem>
#include <fstream>

#include "api_fixture.h"
#include "server/api/streams/acceptor.h"

namespace subak {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// On loopback and so without TLS.
class ApiRightsTest : public ApiTokensTest {};

TEST_F(ApiRightsTest, ARevokedTokenEndsItsStreams) {
  start();
  const auto watch = [&](grpc::ClientContext& context, const char* token) {
    token_ = token;
    prepare(context);
    auto stream = jobs_->WatchJobs(&context, {});
    v1::WatchJobsResponse message;
    EXPECT_TRUE(stream->Read(&message)) << "the list is over";
    return stream;
  };
  as_admin();
  ASSERT_TRUE(import_nodes(1).ok());
  grpc::ClientContext gone_context, less_context, stays_context;
  auto gone = watch(gone_context, "viewer-token-0123");
  auto stays = watch(stays_context, "team-token-012345");
  as_admin();
  prepare(less_context);
  auto less = clusters_->Observe(&less_context);
  v1::ObserveRequest event;
  event.set_sequence(1);
  event.mutable_list_begin();
  v1::ObserveResponse ack;
  ASSERT_TRUE(less->Write(event) && less->Read(&ack));

  std::ofstream(options_.token_file) << "new-viewer-token-1 viewer eve\n"
                                        "team-token-012345 viewer tim\n"
                                        "admin-token-01234 viewer ada\n";
  ASSERT_FALSE(api_->reload_tokens());
  v1::WatchJobsResponse message;
  EXPECT_FALSE(gone->Read(&message));
  EXPECT_EQ(gone->Finish().error_code(), grpc::UNAUTHENTICATED) << "the name stayed, the token not";
  EXPECT_FALSE(less->Read(&ack));
  EXPECT_EQ(less->Finish().error_code(), grpc::PERMISSION_DENIED);
  stays_context.TryCancel();
  while (stays->Read(&message)) {
  }
  EXPECT_EQ(stays->Finish().error_code(), grpc::CANCELLED) << "a viewer may watch";
}

TEST_F(ApiRightsTest, EachCallerHasItsShareOfEachKindOfStream) {
  start();
  const auto open = [&](std::vector<std::unique_ptr<grpc::ClientContext>>& contexts) {
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    prepare(*contexts.back());
    auto stream = jobs_->WatchJobs(contexts.back().get(), {});
    v1::WatchJobsResponse message;
    const bool listed = stream->Read(&message);
    return std::make_pair(std::move(stream), listed);
  };
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<grpc::ClientReader<v1::WatchJobsResponse>>> streams;
  as_viewer();
  for (std::size_t i = 0; i < limits::kMaxStreamsPerCaller; ++i) {
    auto [stream, listed] = open(contexts);
    ASSERT_TRUE(listed);
    streams.push_back(std::move(stream));
  }
  auto [one_more, listed] = open(contexts);
  EXPECT_FALSE(listed);
  const grpc::Status status = one_more->Finish();
  EXPECT_EQ(status.error_code(), grpc::RESOURCE_EXHAUSTED);
  EXPECT_NE(status.error_message().find("64 WatchJobs streams of token:eve"), std::string::npos)
      << status.error_message();
  grpc::ClientContext static_context;
  prepare(static_context);
  auto other_kind = clusters_->Static(&static_context, {});
  v1::StaticResponse copy;
  EXPECT_TRUE(other_kind->Read(&copy));
  as_team();
  auto [other_caller, has_room] = open(contexts);
  EXPECT_TRUE(has_room);
  as_viewer();
  contexts[0]->TryCancel();
  streams[0]->Finish();
  bool is_free = false;
  while (!is_free) {  // the server sees the end a moment later
    auto [next, has_place] = open(contexts);
    is_free = has_place;
    contexts.back()->TryCancel();
    next->Finish();
  }
  for (auto& context : contexts) context->TryCancel();
  static_context.TryCancel();
  for (std::size_t i = 1; i < streams.size(); ++i) streams[i]->Finish();
  other_caller->Finish();
  while (other_kind->Read(&copy)) {
  }
  other_kind->Finish();
}

TEST_F(ApiRightsTest, RefusalsByRoleAreAuditedAndGuessesAreNot) {
  start();
  as_viewer();
  for (int i = 0; i < 3; ++i) create_account("ml");
  as_team();
  create_account("bio");
  create_account("bio.genes");
  create_account("bio");
  token_ = "a-guess-of-a-token";
  create_account("ml");
  // As "caller subject: what they were told", once an edit that came later is durable.
  const auto rows = [&](const std::string& later) {
    as_admin();
    EXPECT_TRUE(create_account(later).ok());
    v1::ListAuditResponse out;
    EXPECT_TRUE(run([&](auto* c) { return admin_->ListAudit(c, {}, &out); }).ok());
    std::vector<std::string> seen;
    for (const auto& e : out.entries()) {
      if (e.what() == "call_denied") {
        seen.push_back(e.actor() + " " + e.subject() + ": " + e.refused());
      }
    }
    return seen;
  };
  const std::string tim = "was \"bio\", want an account below ml";
  const std::string eve = "token:eve may only read; this needs team-admin or admin";
  EXPECT_EQ(rows("x"), (std::vector<std::string>{
                           "token:tim bio.genes: was \"bio.genes\", want an account below ml",
                           "token:tim bio: " + tim, "token:eve : " + eve}));
  clock_.set_mono_ms(limits::kDenialAuditEveryMs);
  as_viewer();
  create_account("ml");
  EXPECT_EQ(rows("y").size(), 4u);
}

TEST_F(ApiRightsTest, LoopbackIsNoAdminWhereThatIsSwitchedOff) {
  options_.token_file = "";
  options_.loopback_admin = false;
  options_.socket = (dir_ / "s").string();
  start();
  const grpc::Status status = read();
  EXPECT_EQ(status.error_code(), grpc::UNAUTHENTICATED);
  EXPECT_NE(status.error_message().find("grpcSocket"), std::string::npos);
  connect(grpc::CreateChannel("unix:" + options_.socket, grpc::InsecureChannelCredentials()));
  EXPECT_TRUE(create_account("ml").ok());
  v1::ListAuditResponse out;
  ASSERT_TRUE(run([&](auto* c) { return admin_->ListAudit(c, {}, &out); }).ok());
  ASSERT_EQ(out.entries_size(), 1);
  EXPECT_EQ(out.entries(0).actor(), "socket");
}

TEST_F(ApiRightsTest, TheSocketNeedsNoTokenAndTakesOne) {
  options_.socket = (dir_ / "s").string();
  start();
  connect(grpc::CreateChannel("unix:" + options_.socket, grpc::InsecureChannelCredentials()));
  EXPECT_TRUE(create_account("ml").ok());
  as_viewer();
  EXPECT_EQ(create_account("bio").error_code(), grpc::PERMISSION_DENIED);
  token_ = "a-guess-of-a-token";
  EXPECT_EQ(read().error_code(), grpc::UNAUTHENTICATED);
}

TEST_F(ApiRightsTest, ASocketThatWasLeftBehindIsReplacedAndNoOtherFile) {
  const std::string path = (dir_ / "s").string();
  const auto first = api::listen_unix(path);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(api::listen_unix(path).error().field, "grpcSocket") << "it is listened on";
  ::close(*first);
  const auto second = api::listen_unix(path);
  ASSERT_TRUE(second.ok());
  ::close(*second);
  std::filesystem::remove(path);
  std::ofstream(path) << "notes";
  EXPECT_FALSE(api::listen_unix(path).ok());
  EXPECT_EQ(text_of(path), "notes");
  EXPECT_FALSE(api::listen_unix("/" + std::string(200, 's')).ok());
}

// The kernel says who is at the other end.
TEST(UnixSocketTest, OnlyUsersThatWereNamedAreLetIn) {
  int pair[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  EXPECT_TRUE(api::is_one_of(pair[0], {::geteuid()}));
  EXPECT_FALSE(api::is_one_of(pair[0], {::geteuid() + 1}));
  EXPECT_FALSE(api::is_one_of(-1, {::geteuid()}));
  ::close(pair[0]);
  ::close(pair[1]);
}

TEST_F(ApiRightsTest, ATokenFileThatOthersReadIsWarnedOf) {
  namespace fs = std::filesystem;
  fs::permissions(options_.token_file, fs::perms::owner_read | fs::perms::group_read);
  start();
  EXPECT_EQ(api_->token_warning(), "") << "a group may be meant";
  as_admin();
  fs::permissions(options_.token_file, fs::perms::others_read, fs::perm_options::add);
  ASSERT_FALSE(api_->reload_tokens());
  EXPECT_NE(api_->token_warning().find("defaultMode: 0400"), std::string::npos);
  v1::Status status;
  ASSERT_TRUE(run([&](auto* c) { return admin_->GetStatus(c, {}, &status); }).ok());
  ASSERT_EQ(status.warnings_size(), 1);
  EXPECT_EQ(status.warnings(0), api_->token_warning());
}

}  // namespace
}  // namespace subak
