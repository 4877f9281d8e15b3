#!/usr/bin/env bash
# Prepares the machine, then tries on it what Skerry does with KVM.
. "$(dirname "${BASH_SOURCE[0]}")/prepare.sh"
prepare
# It makes namespaces and microVMs. Its platforms save their settings in folders of theirs.
as_root_with_settings env -u SUDO_UID -u XDG_CONFIG_HOME node try-kvm/main.ts "$@"
