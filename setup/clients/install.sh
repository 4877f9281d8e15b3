#!/bin/sh
# Installs the command line of Skerry: one file, run by the Node.js of this machine. As root into /usr/local, else into ~/.local; PREFIX says
# otherwise. An argument is the server's address, where it is another one than the script came from.
#
# The server fills in what stands between @ signs. All of it is one command, which a shell begins when it has read its end: of a script that
# breaks off nothing runs.
{
set -eu
api=@ADDRESS@
version=@VERSION@
sha256=@SHA256@
[ $# = 0 ] || api=$1

fail() {
  printf 'error: %s\n' "$1" >&2
  [ -z "${2:-}" ] || printf '%s\n' "$2" >&2
  exit 1
}

case $api in
  http://?* | https://?*) ;;
  *) fail "\"$api\" is no address of a server." "It begins with http:// or https://." ;;
esac
case $api in
  *[!][A-Za-z0-9:/._~%-]*) fail "\"$api\" is no address of a server." "It holds characters that no address has." ;;
esac
api=${api%/}

# Where.
[ -n "${HOME:-}" ] || fail "HOME is not set." "Set it to your own folder."
if [ -n "${PREFIX:-}" ]; then prefix=$PREFIX
elif [ "$(id -u)" = 0 ]; then prefix=/usr/local
else prefix=$HOME/.local
fi
case $prefix in /*) ;; *) fail "PREFIX is \"$prefix\"." "It must be an absolute path." ;; esac
library=$prefix/lib/skerry-client
program=$library/skerry.cjs
command=$prefix/bin/skerry

# Node.
nodehelp="Install Node.js 20 or newer, from your distribution (on Debian 13: apt-get install nodejs) or from https://nodejs.org, and run this again."
command -v node >/dev/null 2>&1 || fail "Node.js is missing." "$nodehelp"
major=$(node -p 'process.versions.node.split(".")[0]' 2>/dev/null </dev/null || echo 0)
[ "$major" -ge 20 ] 2>/dev/null || fail "Node.js is $(node --version 2>/dev/null </dev/null || echo broken), and 20 is needed." "$nodehelp"

# What is there already: an earlier client is replaced, and nothing else.
if [ -e "$command" ] || [ -L "$command" ]; then
  [ "$(readlink "$command" 2>/dev/null || :)" = "$program" ] ||
    fail "$command is there already, and not from here." "If it is an installed Skerry, it can do all that this client can. Otherwise remove it, or choose another place: PREFIX=\$HOME/.local"
fi

# The file, checked before it is in its place.
umask 022
mkdir -p "$library" "$prefix/bin" || fail "$prefix cannot be written." "Choose another place: PREFIX=\$HOME/.local"
part=$(mktemp "$library/.skerry.XXXXXX") || fail "$library cannot be written." "Choose another place: PREFIX=\$HOME/.local"
trap 'rm -f "$part"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
if command -v curl >/dev/null 2>&1; then curl -fsSL -o "$part" "$api/cli" </dev/null || fail "$api/cli could not be downloaded." "curl says why, above."
elif command -v wget >/dev/null 2>&1; then wget -q -O "$part" "$api/cli" </dev/null || fail "$api/cli could not be downloaded." "Look at it with: wget -O /dev/null $api/cli"
else fail "curl and wget are missing." "Install one of them."
fi
digest=$(node -e 'const { createHash } = require("crypto"); process.stdout.write(createHash("sha256").update(require("fs").readFileSync(process.argv[1])).digest("hex"))' "$part" </dev/null)
[ "$digest" = "$sha256" ] || fail "What came from $api/cli is not what it should be: its SHA-256 is $digest." "It may have been cut off, or the server was upgraded just now. Run this again."
chmod 755 "$part"
mv -f "$part" "$program"
ln -sf "$program" "$command"
[ "$("$command" --version </dev/null)" = "$version" ] || fail "$command was installed, and does not run." "Try it: $command --version"
printf 'skerry %s is installed as %s.\n' "$version" "$command"

# The server's address, and no token: "skerry login" saves that. Of another user's settings nothing is touched.
login="skerry login --api-url $api"
case ${XDG_CONFIG_HOME:-} in /*) config=$XDG_CONFIG_HOME/skerry ;; *) config=$HOME/.config/skerry ;; esac
if [ -z "${SUDO_USER:-}" ] && [ ! -e "$config/config.json" ] && (umask 077 && mkdir -p "$config" && printf '{\n  "api_url": "%s"\n}\n' "$api" >"$config/config.json") 2>/dev/null; then
  login="skerry login"
fi

case ":$PATH:" in
  *":$prefix/bin:"*) ;;
  *) printf 'It is not in your PATH yet: export PATH="%s:$PATH"\n' "$prefix/bin" ;;
esac
printf 'Next, with a token from the person who runs the server: %s\n' "$login"
exit
}
