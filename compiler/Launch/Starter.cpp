// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Command lines of ssh, srun and mpirun.
#include "Launch/Starter.h"
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <unistd.h>

namespace mx::launch {
namespace {

const char *nameOf(Via via) {
  return via == Via::Ssh ? "ssh" : via == Via::Slurm ? "srun" : "mpirun";
}

/// The file of a program on PATH; empty: there is none.
std::string find(const std::string &name) {
  std::istringstream folders(std::getenv("PATH") ? std::getenv("PATH") : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::string file = (folder.empty() ? "." : folder) + "/" + name;
    if (access(file.c_str(), X_OK) == 0 && !std::filesystem::is_directory(file))
      return file;
  }
  return "";
}

} // namespace

std::string quoted(const std::string &text) {
  std::string out = "'";
  for (char each : text)
    out += each == '\'' ? "'\\''" : std::string(1, each);
  return out + "'";
}

std::optional<std::vector<Host>> readHosts(const std::string &file, std::string &problem) {
  std::ifstream in(file);
  std::vector<Host> hosts;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    std::istringstream words(line.substr(0, line.find('#')));
    Host host;
    std::string slots, more;
    if (!(words >> host.name))
      continue;
    bool isFine = host.name[0] != '-';
    if (words >> slots) {
      const char *end = slots.data() + slots.size();
      isFine &= slots.starts_with("slots=") && slots.size() > 6 &&
                std::from_chars(slots.data() + 6, end, host.slots).ptr == end && host.slots > 0;
    }
    if (!isFine || words >> more) {
      problem = file + ", line " + std::to_string(number) + ": `" + line +
                "` is not a host; write `NAME` or `NAME slots=4`";
      return std::nullopt;
    }
    hosts.push_back(host);
  }
  if (!in.eof() || number == 0)
    problem = "the list of hosts `" + file + "` cannot be read, or is empty";
  else if (hosts.empty())
    problem = "there is no host in `" + file + "`";
  return problem.empty() ? std::optional(hosts) : std::nullopt;
}

std::string Starter::open(StarterOptions given) {
  options = std::move(given);
  int slots = 0;
  for (const Host &host : options.hosts)
    slots += host.slots;
  if (!options.hosts.empty() && slots < options.ranks)
    return "the hosts have " + std::to_string(slots) + " slots for " +
           std::to_string(options.ranks) + " ranks";
  if (options.via == Via::Local)
    return "";
  program = find(nameOf(options.via));
  return program.empty() ? "there is no `" + std::string(nameOf(options.via)) + "` on PATH" : "";
}

std::string Starter::hostOf(int rank) const {
  for (const Host &host : options.hosts)
    if ((rank -= host.slots) < 0)
      return host.name;
  return "";
}

RankOptions Starter::rank(int number, const std::vector<std::string> &common) const {
  RankOptions out;
  out.isRemote = isRemote();
  std::string own = "MX_RANK=" + std::to_string(number);
  if (options.via == Via::Local || options.via == Via::Slurm) {
    out.variables = common; // srun hands its environment on
    out.variables.push_back(own);
    if (options.via == Via::Slurm) {
      out.command = {program, "--ntasks=1", "--nodes=1", "--exact", "--export=ALL"};
      if (std::string host = hostOf(number); !host.empty())
        out.command.push_back("--nodelist=" + host);
    }
    out.command.insert(out.command.end(), options.command.begin(), options.command.end());
  } else if (options.via == Via::Ssh) {
    // The name of the job is a secret: it goes through the standard input, not the command line.
    std::string line = "IFS= read -r MX_JOB && export MX_JOB && cd " +
                       quoted(std::filesystem::current_path()) + " && exec env " + own;
    for (const std::string &variable : common)
      if (variable.starts_with("MX_JOB="))
        out.input = variable.substr(7) + "\n";
      else
        line += " " + quoted(variable);
    for (const std::string &word : options.command)
      line += " " + quoted(word);
    out.command = {program, "-o", "BatchMode=yes", hostOf(number), line + " </dev/null"};
  } else {
    // Open MPI numbers the ranks.
    std::copy_if(common.begin(), common.end(), std::back_inserter(out.variables),
                 [](const std::string &each) { return !each.starts_with("MX_SIZE="); });
    out.command = {program, "-n", std::to_string(options.ranks), "--oversubscribe",
                   "--bind-to", "none", "--tag-output"};
    if (geteuid() == 0)
      out.command.push_back("--allow-run-as-root");
    std::string hosts;
    for (const Host &host : options.hosts)
      hosts += (hosts.empty() ? "" : ",") + host.name + ":" + std::to_string(host.slots);
    if (!hosts.empty())
      out.command.insert(out.command.end(), {"--host", hosts});
    for (const std::string &variable : out.variables)
      out.command.insert(out.command.end(), {"-x", variable.substr(0, variable.find('='))});
    out.command.insert(out.command.end(), options.command.begin(), options.command.end());
  }
  return out;
}

} // namespace mx::launch
