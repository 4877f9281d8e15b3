# System packages that Skerry uses. Sourced by prepare.sh.
SKERRY_PACKAGES="qemu-system-x86 qemu-utils nftables iproute2 mmdebstrap e2fsprogs postgresql gcc libc6-dev musl-tools make kmod cpio zstd curl ca-certificates debian-archive-keyring"
