# shellcheck shell=bash
# Shared by the test command and its stages; to be sourced, with the project's folder as working directory.

# A run's own folder: logs, and the mark that the package lists are fresh. A stage that is started alone makes its own.
if [[ -z ${AGENT_NOTIFY_TEST_RUN:-} ]]; then
  AGENT_NOTIFY_TEST_RUN=$(mktemp --directory)
  export AGENT_NOTIFY_TEST_RUN
  # Not when this file is sourced by something that sets its own EXIT trap later: that one takes over.
  trap 'rm --recursive --force -- "$AGENT_NOTIFY_TEST_RUN"' EXIT
fi

# Nothing asks a question, changes a snapshot or looks different by language.
export INSTA_UPDATE=no DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
unset TMUX TMUX_PANE

note() { printf '%s\n' "$*" >&2; }

die() {
  note "error: $*"
  exit 1
}

# The forms of a result that tests/run counts; everything else a stage prints is for people.
failed_checks=0

passed() { printf 'check ok: %s\n' "$*"; }

failed() {
  printf 'check FAILED: %s\n' "$*"
  failed_checks=$((failed_checks + 1))
}

# skipped NAME REASON: one check cannot run here. NAME is what tests/may-skip lists as STAGE/NAME.
skipped() { printf 'check skipped: %s: %s\n' "$1" "$2"; }

# check NAME COMMAND…: runs the command in a subshell; shows what it printed only if it failed. In a function that is
# handed over, bash does not stop at the first failing command: its steps have to be joined by &&.
check() {
  local name=$1 output
  shift
  if output=$("$@" 2>&1); then
    passed "$name"
  else
    failed "$name"
    printf '%s\n' "$output" | sed 's/^/    /'
  fi
}

# The end of a stage that counted its checks.
finish() { exit "$((failed_checks > 0))"; }

# The end of a stage that needs something of the kernel that this machine has not.
skip_stage() {
  printf 'stage skipped: %s\n' "$*"
  exit 77
}

# as_root COMMAND…: as it is for root, through sudo without a question for others; status 126 where neither is possible.
as_root() {
  if ((EUID == 0)); then
    "$@"
  elif command -v sudo >/dev/null && sudo --non-interactive true 2>/dev/null; then
    sudo --non-interactive --preserve-env=DEBIAN_FRONTEND "$@"
  else
    return 126
  fi
}

is_installed() { [[ $(dpkg-query --show --showformat='${Status}' "$1" 2>/dev/null) == 'install ok installed' ]]; }

# Another package manager may be at work: apt waits for its lock.
apt=(apt-get --quiet --yes --option DPkg::Lock::Timeout=300)

# Once a run, and only where it is needed; without the right to do so, the lists stay as they are.
update_package_lists() {
  [[ ! -e $AGENT_NOTIFY_TEST_RUN/apt-updated ]] || return 0
  as_root "${apt[@]}" update >"$AGENT_NOTIFY_TEST_RUN/apt.log" 2>&1 || true
  touch "$AGENT_NOTIFY_TEST_RUN/apt-updated"
}

# need_packages PACKAGE…: installs those Debian packages that are missing, or ends with the command that would.
need_packages() {
  local package missing=()
  if ! command -v dpkg-query >/dev/null; then
    note "not a Debian system: expecting what these packages hold: $*"
    return
  fi
  for package in "$@"; do
    is_installed "$package" || missing+=("$package")
  done
  ((${#missing[@]} > 0)) || return 0
  note "installing ${missing[*]}"
  update_package_lists
  if ! as_root "${apt[@]}" install --no-install-recommends "${missing[@]}" >>"$AGENT_NOTIFY_TEST_RUN/apt.log" 2>&1; then
    tail --lines=5 "$AGENT_NOTIFY_TEST_RUN/apt.log" >&2
    die "missing packages; install them: sudo apt-get update && sudo apt-get install --no-install-recommends ${missing[*]}"
  fi
}

# cache_folder NAME@VERSION: prints the folder; the caller fills a neighbour and moves it there, so that half a download
# is never taken for a whole one.
cache_folder() {
  local base=${AGENT_NOTIFY_TEST_CACHE:-${XDG_CACHE_HOME:-${HOME:?}/.cache}/agent-notify-tests}
  mkdir --parents "$base"
  printf '%s/%s\n' "$base" "$1"
}

# Sets AGENT_NOTIFY_BIN to an absolute path: what the caller was handed, else the static build, which is made at most once.
use_static_binary() {
  if [[ -z ${AGENT_NOTIFY_BIN:-} ]]; then
    AGENT_NOTIFY_BIN=$(tests/build-static) || die 'the static build failed'
  fi
  AGENT_NOTIFY_BIN=$(realpath -- "$AGENT_NOTIFY_BIN")
  [[ -x $AGENT_NOTIFY_BIN ]] || die "no program at $AGENT_NOTIFY_BIN"
  export AGENT_NOTIFY_BIN
}

# Integration tests whose subject is what tmux or an engine from outside makes of it: they have stages of their own.
readonly tests_with_own_stage=(tmux nested codex users oracle)

# Prints `--test NAME` for each integration test of the hermetic kind.
hermetic_tests() {
  local file name
  for file in tests/*.rs; do
    name=$(basename -- "$file" .rs)
    [[ " ${tests_with_own_stage[*]} " == *" $name "* ]] || printf -- '--test\n%s\n' "$name"
  done
}
