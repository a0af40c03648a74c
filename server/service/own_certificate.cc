#include "server/service/own_certificate.h"

#include <cstdlib>
#include <utility>

#include "core/duration.h"
#include "core/limits.h"
#include "server/log/log.h"

namespace subak {
namespace {

constexpr char kPrint[] = "put ca.crt into the webhook configuration: subak install --print --ca";

void tell(const SelfSigned& now) {
  const std::string& ca = now.files.ca;
  switch (now.did) {
    case SelfSigned::Did::kNothing:
      return;
    case SelfSigned::Did::kMade:
      return log::warn("a new CA and certificate for the webhook", {{"ca", ca}, {"do", kPrint}});
    case SelfSigned::Did::kAnnounced:
      return log::warn("ca.crt now has the next CA of the webhook too",
                       {{"ca", ca}, {"changes", format_time(now.change_ms)}, {"do", kPrint}});
    case SelfSigned::Did::kChanged:
      return log::warn("the webhook's certificate is now signed by the next CA", {{"ca", ca}});
    case SelfSigned::Did::kForgot:
      return log::info("a CA of the webhook has expired, and ca.crt no longer has it",
                       {{"ca", ca}});
  }
}

}  // namespace

OwnCertificate::OwnCertificate(std::string directory, std::string host, bool by_name,
                               std::function<TimeMs()> now_ms)
    : directory_(std::move(directory)),
      names_{std::move(host)},
      by_name_(by_name),
      now_ms_(std::move(now_ms)) {}

Result<SelfSigned> OwnCertificate::keep() {
  looked_ms_ = now_ms_();
  auto now = keep_self_signed(directory_, names_, looked_ms_);
  if (!now) return now.error();
  change_ms_ = now->change_ms;
  tell(*now);
  return now;
}

Result<CertificateFiles> OwnCertificate::begin() {
  auto now = keep();
  if (!now) return now.error();
  for (const std::string& name : now->missing) {
    if (by_name_) break;
    log::warn("the webhook's certificate is not for the address it listens on",
              {{"address", name},
               {"certificate", now->files.cert},
               {"do", "delete " + directory_ + " and restart, then register the webhook again"}});
  }
  return std::move(now).value().files;
}

void OwnCertificate::look() {
  if (now_ms_() < looked_ms_ + limits::kOwnCaLookMs) return;
  const auto now = keep();
  if (!now)
    log::error("the webhook's certificate was not renewed", {{"error", now.error().message()}});
}

std::vector<std::string> OwnCertificate::warnings() const {
  const TimeMs change = change_ms_;
  if (change == 0) return {};
  const std::int64_t days = (change - now_ms_()) / kDayMs;
  return {"the webhook's certificate changes to the next CA in " + std::to_string(days) +
          " days: by then the webhook's caBundle must have both CAs of tls/ca.crt (subak install "
          "--print --ca)"};
}

}  // namespace subak
