#!/usr/bin/env bash
# Prepares the machine, then checks and tests everything.
. "$(dirname "${BASH_SOURCE[0]}")/prepare.sh"
prepare_for_tests
# The tests make namespaces and microVMs, and are root's own: their platforms save their settings in folders of theirs.
program=setup/test.ts
if [ "${1:-}" = --changed ]; then
  program=setup/test-changed.ts
  shift
fi
as_root_with_settings env -u SUDO_UID -u XDG_CONFIG_HOME node "$program" "$@"
