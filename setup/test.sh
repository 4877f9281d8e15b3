#!/usr/bin/env bash
# Prepares the machine, then checks and tests everything.
. "$(dirname "${BASH_SOURCE[0]}")/prepare.sh"
prepare_for_tests
# The tests make namespaces and microVMs, and are root's own: their platforms save their settings in folders of theirs.
as_root_with_settings env -u SUDO_UID -u XDG_CONFIG_HOME node setup/test.ts "$@"
