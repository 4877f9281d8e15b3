#!/usr/bin/env bash
# Runs a command on a prepared machine, with the project's Node first in PATH.
. "$(dirname "${BASH_SOURCE[0]}")/prepare.sh"
prepare
exec "$@"
