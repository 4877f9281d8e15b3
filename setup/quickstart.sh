#!/usr/bin/env bash
# From a clone of the repository to the output of a command in a microVM.
. "$(dirname "${BASH_SOURCE[0]}")/prepare.sh"
say "Skerry quickstart"
prepare
as_root_with_settings bin/skerry up
exec node setup/first-sandbox.ts
