# shellcheck shell=bash
# What the scripts in tools/dev share. Sourced, never run.
#
# Everything said here goes to stderr: stdout belongs to the program being run.

set -euo pipefail

MX_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
MX_BUILD_ROOT=${MX_BUILD_ROOT:-$MX_ROOT/build}
MX_PRESETS=(dev release asan tsan fuzz coverage)
preset=release
dry_run=0 # 1: commands are printed instead of run

say() { printf 'mx: %s\n' "$*" >&2; }

fail() {
  printf 'mx: error: %s\n' "$1" >&2
  shift
  local line
  for line in "$@"; do printf '    %s\n' "$line" >&2; done
  exit 1
}

# use_preset NAME: checks the name and sets build_dir and log.
use_preset() {
  local name
  for name in "${MX_PRESETS[@]}"; do
    if [[ $name == "$1" ]]; then
      preset=$1
      build_dir=$MX_BUILD_ROOT/$preset
      log=$build_dir/log
      return
    fi
  done
  fail "there is no preset \`$1\`" "the presets are: ${MX_PRESETS[*]}"
}

# print_help FILE: the comment at the top of a script is its help text.
print_help() {
  awk 'NR > 1 { if ($0 !~ /^#/) exit; sub(/^# ?/, ""); print }' "$1"
}

# ---------------------------------------------------------------- packages

# The packages of packages.txt that are not installed, one a line.
missing_packages() {
  local wanted installed
  wanted=$(sed -e 's/#.*//' -e 's/[[:space:]]//g' -e '/^$/d' "$MX_ROOT/tools/dev/packages.txt" | sort)
  # dpkg-query fails when any name is unknown, and still prints the others.
  # shellcheck disable=SC2086
  installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' $wanted 2>/dev/null |
    sed -n 's/^installed //p' | sort -u) || true
  comm -23 <(printf '%s\n' "$wanted") <(printf '%s\n' "$installed")
}

# Installs what is missing. Silent when there is nothing to do. MX_SKIP_SETUP=1
# leaves it out, for machines that get their tools in another way.
ensure_packages() {
  [[ ${MX_SKIP_SETUP:-} == 1 ]] && return
  if ! command -v dpkg-query >/dev/null; then
    local tool absent=()
    for tool in cmake ninja clang++-22 ld.lld-22 llvm-config-22 python3; do
      command -v "$tool" >/dev/null || absent+=("$tool")
    done
    ((${#absent[@]} == 0)) && return
    fail "these tools are missing: ${absent[*]}" \
      "This is not a Debian machine, so they cannot be installed from here." \
      "tools/dev/packages.txt lists what mx needs, and what for."
  fi

  local missing
  mapfile -t missing < <(missing_packages)
  ((${#missing[@]} == 0)) && return

  local apt="apt-get install -y --no-install-recommends ${missing[*]}"
  if ((dry_run)); then printf '%s\n' "$apt" && return; fi
  command -v apt-get >/dev/null ||
    fail "these packages are missing, and there is no apt-get: ${missing[*]}"
  local root=()
  if ((EUID != 0)); then
    if command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [[ -t 0 ]]; }; then
      root=(sudo)
    else
      fail "some packages are missing, and only root can install them" \
        "As root, run:" "  apt-get update && $apt"
    fi
  fi

  mkdir -p "$MX_BUILD_ROOT"
  local setup_log=$MX_BUILD_ROOT/setup.log
  say "installing ${#missing[@]} packages (minutes, once): ${missing[*]}"
  if ! {
    "${root[@]}" apt-get update &&
      "${root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y --no-install-recommends "${missing[@]}"
  } >"$setup_log" 2>&1 </dev/null; then
    tail -n 15 "$setup_log" >&2
    fail "apt could not install the missing packages (details: $setup_log)" \
      "To try by hand, run as root:" \
      "  apt-get update && $apt" \
      "LLVM 22 is in Debian 12's security suite: the apt sources must have" \
      "  deb http://deb.debian.org/debian-security bookworm-security main"
  fi
}

# ---------------------------------------------------------------- building

# One build at a time in a build folder.
lock_build_dir() {
  ((dry_run)) && return
  mkdir -p "$build_dir"
  exec 9>"$build_dir/.lock"
  if ! flock -n 9; then
    say "waiting for another build in $build_dir"
    flock 9
  fi
}

unlock_build_dir() { ((dry_run)) || exec 9>&-; }

# show_progress WHAT: reads the output of a build and shows how far it is: one
# line that rewrites itself on a terminal, a line every ten seconds elsewhere.
# Says nothing at all when there is nothing to do. The log has everything.
show_progress() {
  local line status said=0 rewrites=0 last=$SECONDS
  while true; do
    status=0
    IFS= read -r -t 2 line || status=$?
    ((status == 0 || status > 128)) || break # end of input
    if ((status > 128)); then                # two seconds of silence
      line=
    elif [[ ! $line =~ ^\[[0-9]+/[0-9]+\] || $line == *"Re-checking globbed"* ]]; then
      continue
    fi
    if ((!said)); then
      say "$1"
      said=1
    fi
    if [[ -t 2 && -n $line ]]; then
      printf '\r\033[K%.*s' "$((${COLUMNS:-80} - 1))" "$line" >&2
      rewrites=1
    elif [[ -n $line ]] && ((SECONDS - last >= 10)); then
      printf 'mx:   %s\n' "$line" >&2
      last=$SECONDS
    fi
  done
  if ((rewrites)); then printf '\r\033[K' >&2; fi
}

# run_step WHAT COMMAND…: logs the output, shows progress, and ends the script
# with the tail of the log when the command fails. A dry run prints the command.
run_step() {
  local what=$1 status=0 start
  shift
  if ((dry_run)); then printf '%s\n' "$*" && return; fi
  start=$(wc -l <"$log")
  printf '== %s: %s\n' "$what" "$*" >>"$log"
  "$@" 2>&1 9>&- | tee -a "$log" | show_progress "$what" || status=$?
  if ((status != 0)); then
    tail -n "+$((start + 2))" "$log" | tail -n 40 >&2
    fail "$what: failed (details: $log)"
  fi
}

# Configures when there is nothing yet, when the presets have changed, or when
# MX_WERROR (ON or OFF, from the environment) asks for another build. CMake
# notices changes of its other files by itself.
configure() {
  local cache=$build_dir/CMakeCache.txt options=()
  if ((!dry_run)); then
    mkdir -p "$build_dir"
    : >"$log"
  fi
  if [[ -n ${MX_WERROR:-} ]]; then options=("-DMX_WERROR=$MX_WERROR"); fi
  if [[ -f $build_dir/build.ninja && ! $MX_ROOT/CMakePresets.json -nt $build_dir/build.ninja ]] &&
    { [[ -z ${MX_WERROR:-} ]] || grep -q "^MX_WERROR:BOOL=$MX_WERROR\$" "$cache"; }; then
    return
  fi
  ((dry_run)) || say "configuring $preset"
  run_step "configuring $preset" \
    cmake -S "$MX_ROOT" --preset "$preset" -B "$build_dir" "${options[@]}"
  # CMake leaves build.ninja alone when nothing changed in it.
  ((dry_run)) || touch "$build_dir/build.ninja"
}

# build WHAT TARGET…
build() {
  local what=$1
  shift
  run_step "building $what ($preset)" cmake --build "$build_dir" --target "$@"
}
