#!/usr/bin/env bash
# What `npm run try-system` tries on a system, from a bare one on: `trial.sh first-sandbox`, or `trial.sh PROJECT REPORT [FILE]...` for tests.
# It leaves nothing running.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

first_sandbox() {
  SKERRY_STATE=$(mktemp -d /tmp/skerry-trial-XXXXXX)
  chmod 711 "$SKERRY_STATE"
  mkdir -p .cache/assets
  export SKERRY_STATE XDG_CONFIG_HOME="$SKERRY_STATE/config" SKERRY_HOST_ASSETS="$PWD/.cache/assets" SKERRY_LISTEN=127.0.0.1:7171
  trap 'bin/skerry down && rm -rf "$SKERRY_STATE"' EXIT
  npm run quickstart
  bin/skerry status
  bin/skerry doctor || true
  bin/skerry sandbox list --json | grep -o 'sbx_[a-z0-9]*' | sort -u | xargs -n 1 bin/skerry sandbox destroy
}

tests() {
  local project=$1 report=$2
  shift 2
  . setup/prepare.sh
  prepare_for_tests
  export SKERRY_TEST_CACHE=$PWD/.cache
  node_modules/.bin/vitest run --project "$project" --reporter=default --reporter=json "--outputFile.json=$PWD/$report" "$@"
}

# With its exit, so that the file may change while it runs.
case $1 in
  first-sandbox) first_sandbox; exit ;;
  *) tests "$@"; exit ;;
esac
