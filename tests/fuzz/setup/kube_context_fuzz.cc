// The namespace of a kubeconfig's context. What is accepted can be a namespace.
#include "cli/setup/kube_context.h"
#include "tests/fuzz/common/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(subak::fuzz::text_of(data, size));
  const std::size_t half = size / 2;
  for (const char* context : {"", "prod"}) {
    for (const auto& texts : {std::vector<std::string>{text},
                              std::vector<std::string>{text.substr(0, half), text.substr(half)}}) {
      const auto ns = subak::cli::context_namespace(texts, context);
      if (ns.ok()) {
        assert(subak::cli::is_namespace(*ns));
      } else {
        subak::fuzz::check_error(ns.error());
      }
    }
  }
  return 0;
}
