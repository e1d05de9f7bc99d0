// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `mxc report`: the log folder of a run as one self-contained HTML page.
#include "Memory/Report.h"
#include "Driver/Commands.h"
#include "Driver/Curves.h"
#include "Driver/Settings.h"
#include "Support/Page.h"
#include "io/Safetensors.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

namespace mx::driver {
namespace {

namespace fs = std::filesystem;
namespace json = llvm::json;

constexpr const char *kReportHelp = R"(mxc report - one page about a run

usage: mxc report FOLDER [-o PAGE.html]

Writes FOLDER/report.html, which needs no other file and no network. It shows what FOLDER holds:

  log.jsonl       curves of `log(name, value)`; mxc run --logdir=FOLDER writes it
  *.ckpt, *.safetensors   the tensors of checkpoints: names, shapes, bytes
  *.plan.json     memory plans; mxc plan --json writes them
  trace.json      where the time went; mxc run --profile=FOLDER/trace.json writes it
)";

/// Larger files are not read: a page of them would be useless.
constexpr uint64_t kMaxBytes = uint64_t(1) << 30;

constexpr const char *kStyle = R"(
:root { color-scheme: light dark; --line: #2563c4; --pale: #2563c455; --grid: #8884; }
body { font: 14px system-ui, sans-serif; margin: 24px auto; max-width: 1100px; padding: 0 16px; }
h1 { font-size: 22px; } h2 { font-size: 17px; margin-top: 34px; } h3 { font-size: 14px; margin: 0; }
.curves { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(330px, 100%), 1fr)); gap: 18px; }
section { overflow-x: auto; }
svg { width: 100%; height: auto; display: block; }
svg text { font: 11px system-ui, sans-serif; fill: currentColor; }
table { border-collapse: collapse; } td, th { padding: 2px 16px 2px 0; text-align: left; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
.quiet { opacity: .7; }
)";

std::string cell(const std::string &text, bool number = false) {
  return std::string("<td") + (number ? " class=\"n\"" : "") + ">" + escapedForPage(text) + "</td>";
}

std::string heads(std::initializer_list<std::pair<const char *, bool>> names) {
  std::string out = "<tr>";
  for (auto [name, number] : names)
    out += std::string("<th") + (number ? " class=\"n\"" : "") + ">" + name + "</th>";
  return out + "</tr>\n";
}

bool readBytes(const fs::path &path, std::string &text) {
  std::error_code failed;
  if (uint64_t size = fs::file_size(path, failed); failed || size > kMaxBytes)
    return false;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream all;
  all << file.rdbuf();
  text = all.str();
  return bool(file);
}

/// LLVM's JSON parser is recursive; no file of ours is nested this deeply.
constexpr int kMaxNesting = 100;

llvm::Expected<json::Value> parseJson(llvm::StringRef text) {
  int nesting = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (quoted && c == '\\')
      ++i;
    else if (c == '"')
      quoted = !quoted;
    else if (!quoted && (c == '[' || c == '{') && ++nesting > kMaxNesting)
      return llvm::createStringError("byte %zu: nested more than %d deep", i, kMaxNesting);
    else if (!quoted && (c == ']' || c == '}'))
      --nesting;
  }
  return json::parse(text);
}

std::string format(const char *how, double number) {
  char text[40];
  std::snprintf(text, sizeof text, how, number);
  return text;
}

// ---- sections of the page; each is empty if the folder has no data for it

class Page {
public:
  Page(fs::path folder, std::ostream &err) : folder(std::move(folder)), err(err) {}

  /// False if reading failed; the reason has been reported.
  bool read() {
    std::error_code failed;
    std::vector<fs::path> files;
    for (auto &entry : fs::directory_iterator(folder, failed))
      if (entry.is_regular_file(failed))
        files.push_back(entry.path());
    if (failed) {
      err << "mxc report: cannot read `" << folder.string() << "`: " << failed.message() << "\n";
      return false;
    }
    std::sort(files.begin(), files.end());
    for (const fs::path &file : files) {
      std::string name = file.filename().string(), text;
      llvm::StringRef view(name);
      bool checkpoint = view.ends_with(".ckpt") || view.ends_with(".safetensors");
      bool known =
          checkpoint || name == "log.jsonl" || name == "trace.json" || view.ends_with(".plan.json");
      if (!known)
        continue;
      if (checkpoint) {
        if (!addCheckpoint(file))
          return false;
        continue;
      }
      if (!readBytes(file, text)) {
        err << "mxc report: cannot read `" << file.string() << "`, or it is larger than a GiB\n";
        return false;
      }
      bool fine = name == "log.jsonl"    ? addLog(file, text)
                  : name == "trace.json" ? addTrace(file, text)
                                         : addPlan(file, text);
      if (!fine)
        return false;
    }
    return true;
  }
  bool empty() const {
    return curves.empty() && models.empty() && plans.empty() && profile.empty();
  }

  std::string text() const {
    std::string title = escapedForPage(fs::weakly_canonical(folder).filename().string());
    std::string out = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                      "<meta name=\"viewport\" content=\"width=device-width\"><title>" +
                      title + "</title>\n<style>" + kStyle + "</style></head>\n<body><h1>" + title +
                      "</h1>\n";
    auto add = [&](const char *id, const char *head, const std::string &body) {
      if (!body.empty())
        out += std::string("<section id=\"") + id + "\"><h2>" + head + "</h2>\n" + body +
               "</section>\n";
    };
    add("curves", "Curves", curves);
    add("models", "Checkpoints", models);
    add("plans", "Memory", plans);
    add("profile", "Where the time went", profile);
    return out + "</body></html>\n";
  }

private:
  bool malformed(const fs::path &file, size_t line, const std::string &why) {
    err << "mxc report: " << file.string() << ":" << line << ": " << why << "\n";
    return false;
  }

  bool addLog(const fs::path &file, const std::string &text) {
    std::vector<Curve> all;
    std::map<std::string, size_t> locations;
    llvm::StringRef rest(text);
    for (size_t line = 1; !rest.empty(); ++line) {
      auto [first, more] = rest.split('\n');
      rest = more;
      // A killed run may leave an incomplete last line.
      if (first.empty() || (rest.empty() && !llvm::StringRef(text).ends_with("\n")))
        continue;
      llvm::Expected<json::Value> parsed = parseJson(first);
      if (!parsed)
        return malformed(file, line, llvm::toString(parsed.takeError()));
      const json::Object *object = parsed->getAsObject();
      auto name = object ? object->getString("name") : std::nullopt;
      auto step = object ? object->getInteger("step") : std::nullopt;
      const json::Value *value = object ? object->get("value") : nullptr;
      if (!name || !step || !value)
        return malformed(file, line, "a line is {\"name\": …, \"step\": …, \"value\": …}");
      auto number = value->getAsNumber();
      auto [location, isNew] = locations.try_emplace(name->str(), all.size());
      if (isNew)
        all.push_back({name->str(), {}});
      double time = object->getNumber("time").value_or(0);
      all[location->second].points.push_back({*step, time, number ? *number : std::nan("")});
    }
    if (all.empty())
      return true;
    curves = "<div class=\"curves\">\n";
    for (const Curve &curve : all)
      curves += "<figure style=\"margin:0\"><h3>" + escapedForPage(curve.name) + "</h3>\n" +
                drawCurve(curve) + "</figure>\n";
    curves += "</div>\n<table>" + heads({{"name", false},
                                         {"numbers", true},
                                         {"first", true},
                                         {"latest", true},
                                         {"min", true},
                                         {"max", true},
                                         {"seconds", true}});
    for (const Curve &curve : all) {
      auto [low, high] = rangeOf(curve);
      curves += "<tr>" + cell(curve.name) + cell(std::to_string(curve.points.size()), true) +
                cell(format("%.5g", curve.points.front().value), true) +
                cell(format("%.5g", curve.points.back().value), true) +
                cell(format("%.5g", low), true) + cell(format("%.5g", high), true) +
                cell(format("%.1f", curve.points.back().seconds), true) + "</tr>\n";
    }
    curves += "</table>\n";
    return true;
  }

  bool addCheckpoint(const fs::path &file) {
    std::string path = file.string();
    mxrt::io::FileInput input(mxrt_system_allocator(), path.c_str());
    mxrt::Status status = input.open();
    mxrt::io::SafetensorsIndex index(input);
    if (status.ok())
      status = index.read();
    if (!status.ok()) {
      std::string why = status.message();
      err << "mxc report: " << why.substr(0, why.find('\n')) << "\n";
      return false;
    }
    int64_t bytes = 0, numbers = 0;
    std::string rows;
    for (const mxrt::io::SafeTensor &tensor : index.tensors) {
      std::string shape;
      int64_t count = 1;
      for (int32_t i = 0; i < tensor.rank; ++i) {
        shape += (i ? ", " : "") + std::to_string(tensor.sizes[i]);
        count *= tensor.sizes[i];
      }
      bool known = tensor.type < MXRT_DTYPE_COUNT;
      std::string type = known ? mxrt_dtype_name(tensor.type) : "?";
      rows += "<tr>" + cell(std::string(tensor.name)) +
              cell(type + (tensor.rank ? "[" + shape + "]" : "")) +
              cell(memory::withCommas(count), true) + cell(memory::withCommas(tensor.bytes), true) +
              "</tr>\n";
      bytes += tensor.bytes;
      numbers += count;
    }
    models += "<h3>" + escapedForPage(file.filename().string()) + "</h3><p class=\"quiet\">" +
              std::to_string(index.tensors.size()) + " values, " + memory::withCommas(numbers) +
              " numbers, " + memory::withCommas(bytes) + " bytes</p>\n<table>" +
              heads({{"name", false}, {"type", false}, {"numbers", true}, {"bytes", true}}) + rows +
              "</table>\n";
    return true;
  }

  bool addPlan(const fs::path &file, const std::string &text) {
    llvm::Expected<json::Value> parsed = parseJson(text);
    if (!parsed)
      return malformed(file, 1, llvm::toString(parsed.takeError()));
    const json::Object *plan = parsed->getAsObject();
    const json::Array *devices = plan ? plan->getArray("devices") : nullptr;
    if (!devices)
      return malformed(file, 1, "this is not what `mxc plan --json` prints");
    plans += "<h3>" + escapedForPage(plan->getString("graph").value_or("").str()) + "</h3>\n";
    for (const json::Value &each : *devices) {
      const json::Object *device = each.getAsObject();
      const json::Array *slices = device ? device->getArray("slices") : nullptr;
      if (!slices)
        return malformed(file, 1, "a device of the plan has no slices");
      auto bytesOf = [&](const char *name) { return device->getInteger(name).value_or(0); };
      int64_t ops = 1;
      std::vector<Slice> all;
      for (const json::Value &one : *slices) {
        const json::Object *slice = one.getAsObject();
        // Larger than any plan, and differences of such numbers do not overflow.
        constexpr int64_t limit = int64_t(1) << 61;
        auto numberOf = [&](const char *name) {
          return slice ? std::clamp(slice->getInteger(name).value_or(0), -limit, limit) : 0;
        };
        std::string what;
        for (const char *part : {"type", "what", "location"})
          if (auto found = slice ? slice->getString(part) : std::nullopt)
            what += (what.empty() ? "" : " ") + found->str();
        all.push_back(
            {what, numberOf("offset"), numberOf("bytes"), numberOf("first"), numberOf("last")});
        ops = std::max(ops, all.back().last + 1);
      }
      plans += "<p class=\"quiet\">" +
               escapedForPage(device->getString("device").value_or("").str()) + ": " +
               memory::withCommas(bytesOf("arena_bytes")) + " bytes for a call, " +
               memory::withCommas(bytesOf("unshared_bytes")) + " without sharing</p>\n" +
               drawSlices(all, ops, bytesOf("arena_bytes"));
    }
    return true;
  }

  bool addTrace(const fs::path &file, const std::string &text) {
    llvm::Expected<json::Value> parsed = parseJson(text);
    if (!parsed)
      return malformed(file, 1, llvm::toString(parsed.takeError()));
    const json::Object *object = parsed->getAsObject();
    const json::Array *events = object ? object->getArray("traceEvents") : parsed->getAsArray();
    if (!events)
      return malformed(file, 1, "this is not a trace of Chrome's format");
    struct Total {
      double micros = 0, max = 0;
      int64_t count = 0;
    };
    std::map<std::string, Total> totals;
    double all = 0;
    for (const json::Value &each : *events) {
      const json::Object *event = each.getAsObject();
      auto name = event ? event->getString("name") : std::nullopt;
      auto span = event ? event->getNumber("dur") : std::nullopt;
      if (!name || !span)
        continue;
      Total &total = totals[name->str()];
      total.micros += *span;
      total.max = std::max(total.max, *span);
      ++total.count;
      all += *span;
    }
    std::vector<std::pair<std::string, Total>> sorted(totals.begin(), totals.end());
    std::sort(sorted.begin(), sorted.end(), [](auto &a, auto &b) {
      return a.second.micros != b.second.micros ? a.second.micros > b.second.micros
                                                : a.first < b.first;
    });
    if (sorted.size() > 40)
      sorted.resize(40);
    if (sorted.empty())
      return true;
    profile = "<table>" + heads({{"name", false},
                                 {"calls", true},
                                 {"ms", true},
                                 {"mean us", true},
                                 {"longest us", true},
                                 {"share", true}});
    for (auto &[name, total] : sorted)
      profile += "<tr>" + cell(name) + cell(memory::withCommas(total.count), true) +
                 cell(format("%.2f", total.micros / 1e3), true) +
                 cell(format("%.1f", total.micros / double(total.count)), true) +
                 cell(format("%.1f", total.max), true) +
                 cell(format("%.1f %%", all > 0 ? 100 * total.micros / all : 0), true) + "</tr>\n";
    profile += "</table>\n";
    return true;
  }

  fs::path folder;
  std::ostream &err;
  std::string curves, models, plans, profile;
};

} // namespace

int runReport(const std::vector<std::string> &args, Streams streams) {
  CommandLine line(args, {"-o"}, {"--help", "-h"});
  if (!line.problem().empty())
    return wrongUse(streams, line.problem(), "report");
  if (line.has("--help") || line.has("-h")) {
    streams.out << kReportHelp;
    return kFine;
  }
  if (line.files().size() != 1)
    return wrongUse(streams, "one folder, please", "report");
  fs::path folder = line.files()[0];
  Page page(folder, streams.err);
  if (!page.read())
    return kProgramHasErrors;
  if (page.empty()) {
    streams.err << "mxc report: `" << folder.string()
                << "` holds nothing to show; `mxc help report` lists what could be there\n";
    return kProgramHasErrors;
  }
  std::string out = line.value("-o").value_or((folder / "report.html").string());
  std::ofstream file(out, std::ios::binary);
  file << page.text();
  if (!file.flush()) {
    streams.err << "mxc report: cannot write `" << out << "`\n";
    return kProgramHasErrors;
  }
  streams.out << out << "\n";
  return kFine;
}

} // namespace mx::driver
