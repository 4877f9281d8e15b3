# System packages that Skerry uses: to run, and to be built from a checkout. Sourced by prepare.sh; `skerry doctor` reads the first list.
SKERRY_RUNTIME_PACKAGES="qemu-system-x86 qemu-utils nftables haproxy iproute2 mmdebstrap e2fsprogs postgresql kmod cpio zstd curl ca-certificates debian-archive-keyring"
SKERRY_BUILD_PACKAGES="gcc libc6-dev musl-tools make"
# What only tests need: the Python client runs with the system's Python, and its types are checked; systemd's programs check our units; the dashboard
# is tried in a browser.
SKERRY_TEST_PACKAGES="python3 python3-httpx mypy systemd chromium docker-registry busybox-static git"
SKERRY_PACKAGES="$SKERRY_RUNTIME_PACKAGES $SKERRY_BUILD_PACKAGES"
