// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Atomic writing of files, archives, and linking with the C compiler of the system.
#include "Build/Write.h"
#include "base/Files.h"
#include "base/Replacement.h"
#include "llvm/Object/Archive.h"
#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include <cstdlib>

namespace mx::build {

bool writeFile(const std::string &path, llvm::StringRef content, Trouble &trouble, unsigned mode) {
  int failure = mxrt::os::replaceFile(path.c_str(), content.data(), content.size(), mode);
  if (!failure)
    return true;
  char words[128];
  trouble.why = mxrt::os::errorText(failure, words, sizeof words);
  return false;
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
  auto whole = llvm::writeArchiveToBuffer(members, llvm::SymtabWritingMode::NormalSymtab,
                                          llvm::object::Archive::K_GNU, /*Deterministic=*/true,
                                          /*Thin=*/false);
  if (!whole)
    return failed(whole.takeError());
  return writeFile(path, (*whole)->getBuffer(), trouble);
}

bool runLinker(const std::vector<std::string> &flags, const std::vector<std::string> &inputs,
               const std::string &path, Trouble &trouble) {
  std::vector<std::string> names = {"cc", "clang", "gcc"};
  if (const char *given = std::getenv("CC"); given && *given)
    names = {given};
  std::string program;
  for (const std::string &name : names)
    // A name with a slash is a path, which is found whether it exists or not.
    if (auto found = llvm::sys::findProgramByName(name);
        found && program.empty() && llvm::sys::fs::can_execute(*found))
      program = *found;
  if (program.empty()) {
    trouble.why = "there is no C compiler to link with: `" + names.front() + "` is not in PATH";
    trouble.help = "install one, set CC to its name, or write an object with `--obj`";
    return false;
  }
  // Links in a private folder, then replaces the destination atomically, even while the old file
  // runs.
  llvm::SmallString<128> folder;
  if (std::error_code failure = llvm::sys::fs::createUniqueDirectory("mxc-link", folder)) {
    trouble.why = failure.message();
    return false;
  }
  std::string log = (folder + "/log").str(), made = (folder + "/made").str();
  std::vector<llvm::StringRef> arguments = {program};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  arguments.push_back("-o");
  arguments.push_back(made);
  arguments.insert(arguments.end(), inputs.begin(), inputs.end());
  std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(""), llvm::StringRef(log),
                                                llvm::StringRef(log)};
  bool fine = llvm::sys::ExecuteAndWait(program, arguments, std::nullopt, redirects, 0, 0,
                                        &trouble.why) == 0;
  if (!fine) {
    auto said = llvm::MemoryBuffer::getFile(log);
    llvm::StringRef text = said ? (*said)->getBuffer().rtrim() : "";
    // The linker's message comes first; the rest is about the compiler driver that called it.
    text = text.split('\n').first;
    trouble.why = "`" + program + "` failed" + (text.empty() ? "" : ": " + text.str());
  } else {
    auto linked = llvm::MemoryBuffer::getFile(made, /*IsText=*/false,
                                              /*RequiresNullTerminator=*/false);
    if (!linked)
      trouble.why = "cannot read `" + made + "`: " + linked.getError().message();
    fine = linked && writeFile(path, (*linked)->getBuffer(), trouble, 0777);
  }
  llvm::sys::fs::remove_directories(folder);
  return fine;
}

} // namespace mx::build
