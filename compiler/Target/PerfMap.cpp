// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// perf map files: symbols of JIT code for `perf`.
#include "Target/PerfMap.h"
#include "llvm/ExecutionEngine/JITLink/JITLink.h"
#include "llvm/Support/raw_ostream.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace mx::target {

namespace {

class PerfMap : public llvm::orc::ObjectLinkingLayer::Plugin {
public:
  explicit PerfMap(int file) : file(file) {}
  ~PerfMap() override { ::close(file); }

  void modifyPassConfig(llvm::orc::MaterializationResponsibility &, llvm::jitlink::LinkGraph &,
                        llvm::jitlink::PassConfiguration &passes) override {
    passes.PostFixupPasses.push_back([this](llvm::jitlink::LinkGraph &graph) {
      write(graph);
      return llvm::Error::success();
    });
  }
  llvm::Error notifyFailed(llvm::orc::MaterializationResponsibility &) override {
    return llvm::Error::success();
  }
  llvm::Error notifyRemovingResources(llvm::orc::JITDylib &, llvm::orc::ResourceKey) override {
    return llvm::Error::success();
  }
  void notifyTransferringResources(llvm::orc::JITDylib &, llvm::orc::ResourceKey,
                                   llvm::orc::ResourceKey) override {}

private:
  int file;

  /// One write for each object: several Jits append to the same file.
  void write(llvm::jitlink::LinkGraph &graph) {
    std::string lines;
    llvm::raw_string_ostream stream(lines);
    for (llvm::jitlink::Symbol *symbol : graph.defined_symbols())
      if (symbol->hasName() && symbol->isCallable())
        stream << llvm::format("%llx %llx ",
                               static_cast<unsigned long long>(symbol->getAddress().getValue()),
                               static_cast<unsigned long long>(symbol->getSize()))
               << *symbol->getName() << '\n';
    // A profile without some symbols is still a profile.
    [[maybe_unused]] ssize_t written = ::write(file, lines.data(), lines.size());
  }
};

} // namespace

Result<std::shared_ptr<llvm::orc::ObjectLinkingLayer::Plugin>>
makePerfMap(const std::string &folder) {
  const std::string path = folder + "/perf-" + std::to_string(::getpid()) + ".map";
  // The name is predictable and the folder is shared, so a symbolic link must not be followed.
  const int file =
      ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0)
    return Fault{"cannot write " + path + ": " + std::strerror(errno)};
  struct stat status;
  if (::fstat(file, &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != ::geteuid()) {
    ::close(file);
    return Fault{"cannot write " + path + ": it belongs to somebody else"};
  }
  return std::shared_ptr<llvm::orc::ObjectLinkingLayer::Plugin>(std::make_shared<PerfMap>(file));
}

} // namespace mx::target
