# Brings a machine to the point where the project runs: system packages, Node 24, npm packages, the build.
# Sourced by quickstart.sh, test.sh and with-node.sh. Each step looks first and does nothing that is already done.

set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
. setup/packages.sh

say() { printf '%s\n' "$*"; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

# step TITLE REMEDY COMMAND...: runs the command with its output in a file and says how long it took. A dot every five seconds
# shows that it lives; the remedy is what to do when it fails.
step() {
  local title=$1 remedy=$2 log started pid
  shift 2
  log=$(mktemp)
  started=$(date +%s.%N)
  printf '%-52s' "$title"
  "$@" >"$log" 2>&1 &
  pid=$!
  local ticks=0
  while kill -0 "$pid" 2>/dev/null; do
    sleep 0.2
    ticks=$((ticks + 1))
    if ((ticks % 25 == 0)); then printf '.'; fi
  done
  if wait "$pid"; then
    printf ' %6.1f s\n' "$(awk "BEGIN { print $(date +%s.%N) - $started }")"
    rm -f "$log"
  else
    printf ' failed\n'
    tail -n 30 "$log" >&2
    die "\"$title\" failed; its output is above and in $log. $remedy"
  fi
}

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

# As root, with what our programs read from the environment, which sudo would drop. Values that may be secret (a database's URL) are
# passed by name; PATH is not taken that way, and HOME keeps the settings with the user who called us.
as_root_with_settings() {
  local names
  if [ "$(id -u)" = 0 ]; then "$@"; return; fi
  names=$(compgen -e | grep -E '^(SKERRY_.*|CI|XDG_CONFIG_HOME|NO_COLOR|TERM|(http|https|no|all)_proxy|(HTTP|HTTPS|NO|ALL)_PROXY)$' | paste -sd, || true)
  sudo ${names:+"--preserve-env=$names"} env "PATH=$PATH" "HOME=$HOME" "$@"
}

check_machine() {
  [ "$(uname -s)" = Linux ] || die "Skerry runs on Linux; this is $(uname -s)"
  [ "$(uname -m)" = x86_64 ] || die "Skerry's hosts are x86_64 for now; this is $(uname -m)"
  [ "$(id -u)" = 0 ] || command -v sudo >/dev/null || die "root is needed for namespaces and TAP devices: run as root, or install sudo"
}

missing_packages() {
  local package
  for package in $SKERRY_PACKAGES; do
    dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || printf '%s ' "$package"
  done
}

# Debian's postgresql makes and starts a cluster of its own when it is installed. We use only its programs, so it is told not
# to, for the time of this installation.
install_packages() {
  local settings=/etc/postgresql-common/createcluster.d/skerry.conf status=0
  as_root mkdir -p "${settings%/*}"
  printf 'create_main_cluster = false\n' | as_root tee "$settings" >/dev/null
  { as_root apt-get update -q && as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$@"; } || status=$?
  as_root rm -f "$settings"
  return "$status"
}

prepare_packages() {
  local missing
  if ! command -v apt-get >/dev/null; then
    command -v qemu-system-x86_64 >/dev/null || die "this is not Debian or Ubuntu; install what these packages hold, then try again: $SKERRY_PACKAGES"
    return
  fi
  missing=$(missing_packages)
  [ -z "$missing" ] || step "System packages ($(wc -w <<<"$missing"))" "Check the machine's apt sources and network, or install by hand: $missing" install_packages $missing
}

node_major() { node -p 'process.versions.node.split(".")[0]' 2>/dev/null || echo 0; }

prepare_node() {
  local architecture=x64
  [ "$(uname -m)" = x86_64 ] || architecture=arm64
  if [ "$(node_major)" -lt 24 ] && [ ! -x .node/node_modules/.bin/node ]; then
    command -v npm >/dev/null || die "npm is missing: apt-get install npm, or install Node.js 24"
    step "Node 24" "Check npm's registry and the network, or install Node.js 24 yourself." npm install --prefix .node --no-save --no-audit --no-fund "node-linux-$architecture@24"
  fi
  [ ! -x .node/node_modules/.bin/node ] || export PATH="$root/.node/node_modules/.bin:$PATH"
  [ "$(node_major)" -ge 24 ] || die "Node 24 could not be set up; node is $(command -v node) $(node --version)"
}

prepare_npm() {
  local want have
  want=$(sha256sum package-lock.json | cut -d ' ' -f 1)
  have=$(cat node_modules/.skerry-lock 2>/dev/null || true)
  [ "$want" != "$have" ] || return 0
  # Not `npm ci`: it refuses a lock file without the optional binaries of every foreign platform, which a registry mirror may lack.
  step "npm packages" "Check npm's registry and the network, then try again." npm install --no-save --no-audit --no-fund
  printf '%s\n' "$want" >node_modules/.skerry-lock
}

# Builds only if a source file has changed since the last build: a program that is edited and run again does not wait for it.
# The time that counts is that of the build's start, because a file may be changed while it runs.
prepare_build() {
  local stamp=dist/.built changed
  if [ -f "$stamp" ] && [ -f dist/skerry.js ]; then
    changed=$(find packages setup package.json package-lock.json tsconfig.json \( -newer "$stamp" -o -cnewer "$stamp" \) \
      -not -path '*/node_modules/*' -not -path '*/tests/*' -print -quit)
    [ -n "$changed" ] || return 0
  fi
  mkdir -p dist
  touch "$stamp.begun"
  step "Build" "The compiler's message above names the file; a clean checkout builds." node setup/build.ts
  mv "$stamp.begun" "$stamp"
}

prepare_for_tests() {
  SKERRY_PACKAGES="$SKERRY_PACKAGES $SKERRY_TEST_PACKAGES"
  prepare
}

prepare() {
  check_machine
  prepare_packages
  prepare_node
  prepare_npm
  prepare_build
}
