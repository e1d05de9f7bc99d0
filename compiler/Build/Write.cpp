// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Build/Write.h"
#include "llvm/Object/Archive.h"
#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>

namespace mx::build {

bool writeFile(const std::string &path, llvm::StringRef content, Trouble &trouble) {
  std::string beside = path + ".part";
  {
    std::error_code failure;
    llvm::raw_fd_ostream file(beside, failure);
    if (failure) {
      trouble.why = failure.message();
      return false;
    }
    file << content;
    file.close();
    if (file.has_error()) {
      trouble.why = file.error().message();
      file.clear_error();
      llvm::sys::fs::remove(beside);
      return false;
    }
  }
  if (std::error_code failure = llvm::sys::fs::rename(beside, path)) {
    trouble.why = failure.message();
    llvm::sys::fs::remove(beside);
    return false;
  }
  return true;
}

bool writeArchive(const std::string &path,
                  const std::vector<std::pair<std::string, std::string>> &objects,
                  const std::string &other, Trouble &trouble) {
  auto failed = [&](llvm::Error error) {
    trouble.why = llvm::toString(std::move(error));
    return false;
  };
  std::vector<llvm::NewArchiveMember> members;
  for (auto &[name, object] : objects)
    members.emplace_back(llvm::MemoryBufferRef(object, name));
  std::unique_ptr<llvm::MemoryBuffer> bytes;
  std::unique_ptr<llvm::object::Archive> archive;
  if (!other.empty()) {
    auto buffer = llvm::MemoryBuffer::getFile(other, /*IsText=*/false,
                                              /*RequiresNullTerminator=*/false);
    if (!buffer) {
      trouble.why = "cannot read `" + other + "`: " + buffer.getError().message();
      return false;
    }
    bytes = std::move(*buffer);
    auto opened = llvm::object::Archive::create(bytes->getMemBufferRef());
    if (!opened)
      return failed(opened.takeError());
    archive = std::move(*opened);
    llvm::Error problem = llvm::Error::success();
    for (const llvm::object::Archive::Child &child : archive->children(problem)) {
      auto member = llvm::NewArchiveMember::getOldMember(child, /*Deterministic=*/true);
      if (!member)
        return failed(member.takeError());
      members.push_back(std::move(*member));
    }
    if (problem)
      return failed(std::move(problem));
  }
  if (llvm::Error error =
          llvm::writeArchive(path, members, llvm::SymtabWritingMode::NormalSymtab,
                             llvm::object::Archive::K_GNU, /*Deterministic=*/true, /*Thin=*/false))
    return failed(std::move(error));
  return true;
}

bool runLinker(const std::vector<std::string> &flags, const std::vector<std::string> &inputs,
               const std::string &path, Trouble &trouble) {
  std::vector<std::string> names = {"cc", "clang", "gcc"};
  if (const char *given = std::getenv("CC"); given && *given)
    names = {given};
  std::string program;
  for (const std::string &name : names)
    if (auto found = llvm::sys::findProgramByName(name); found && program.empty())
      program = *found;
  if (program.empty()) {
    trouble.why = "there is no C compiler to link with: `" + names.front() + "` is not in PATH";
    trouble.help = "install one, set CC to its name, or write an object with `--obj`";
    return false;
  }
  llvm::SmallString<128> log;
  if (std::error_code failure = llvm::sys::fs::createTemporaryFile("mxc-link", "log", log)) {
    trouble.why = failure.message();
    return false;
  }
  std::vector<llvm::StringRef> arguments = {program};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  arguments.push_back("-o");
  arguments.push_back(path);
  arguments.insert(arguments.end(), inputs.begin(), inputs.end());
  std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(""), llvm::StringRef(log),
                                                llvm::StringRef(log)};
  int code =
      llvm::sys::ExecuteAndWait(program, arguments, std::nullopt, redirects, 0, 0, &trouble.why);
  if (code != 0) {
    auto said = llvm::MemoryBuffer::getFile(log);
    llvm::StringRef text = said ? (*said)->getBuffer().rtrim() : "";
    // The linker says it first; the rest is who called it.
    text = text.split('\n').first;
    trouble.why = "`" + program + "` failed" + (text.empty() ? "" : ": " + text.str());
  }
  llvm::sys::fs::remove(log);
  return code == 0;
}

} // namespace mx::build
