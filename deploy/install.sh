#!/bin/sh
# Installs Fencepost without a package manager, upgrades it, and takes it away again. As root to /usr/local, else to ~/.local.
#   install.sh [--version V] [--jre]      downloads a release and its SHA256SUMS
#   install.sh --file TARBALL [--sums F]  takes local files; SHA256SUMS beside the tarball if --sums is missing
#   install.sh --uninstall                takes the program away; jobs files and stores stay
# and for each: --prefix DIR. FENCEPOST_RELEASES says where the releases are, as https://github.com/OWNER/REPOSITORY/releases
# Nothing is touched before the checksum was compared.
set -eu
umask 022

releases=${FENCEPOST_RELEASES:-}
prefix=
version=latest
file=
sums=
jre=
uninstall=

die() {
    echo "install.sh: $1" >&2
    exit "${2:-1}"
}
value() { # option, how many words are left
    [ "$2" -ge 2 ] || die "$1 needs a value" 64
}
while [ $# -gt 0 ]; do
    case $1 in
        --version) value "$1" $#; version=$2; shift ;;
        --file) value "$1" $#; file=$2; shift ;;
        --sums) value "$1" $#; sums=$2; shift ;;
        --prefix) value "$1" $#; prefix=$2; shift ;;
        --jre) jre=yes ;;
        --uninstall) uninstall=yes ;;
        --help) sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 0 ;;
        *) die "unknown option $1; see install.sh --help" 64 ;;
    esac
    shift
done

if [ -z "$prefix" ]; then
    if [ "$(id -u)" = 0 ]; then
        prefix=/usr/local
    else
        prefix=${HOME:?install.sh: HOME is not set; write --prefix DIR}/.local
    fi
fi
case $prefix in
    /*) ;;
    *) die "--prefix $prefix: write the whole path, from /" 64 ;;
esac
home=$prefix/lib/fencepost
links="bin/fencepost share/man/man1/fencepost.1.gz share/bash-completion/completions/fencepost
share/zsh/site-functions/_fencepost share/fish/vendor_completions.d/fencepost.fish"

target_of() { # link: where it leads, seen from its own folder
    case $1 in
        bin/*) echo "../lib/fencepost/fencepost" ;;
        share/man/*) echo "../../../lib/fencepost/$1" ;;
        share/zsh/*) echo "../../../lib/fencepost/share/zsh/vendor-completions/_fencepost" ;;
        *) echo "../../../lib/fencepost/$1" ;;
    esac
}

nobody_runs_it() {
    real=$(readlink -f "$home" || echo "$home") # as the kernel says it, without links on the way
    for exe in /proc/[0-9]*/exe; do
        case $(readlink "$exe" 2>/dev/null || true) in
            "$real"/*)
                pid=${exe#/proc/}
                die "process ${pid%/exe} runs out of $home; stop it first, and start it again afterwards"
                ;;
        esac
    done
}

take_links_away() {
    for link in $links; do
        [ "$(readlink "$prefix/$link" 2>/dev/null || true)" != "$(target_of "$link")" ] || rm -f "$prefix/$link"
    done
}

if [ -n "$uninstall" ]; then
    [ -x "$home/fencepost" ] || die "there is no Fencepost in $home"
    nobody_runs_it
    take_links_away
    rm -rf "$home"
    echo "Fencepost is gone from $prefix. Jobs files and stores were not touched."
    exit 0
fi

for program in tar gzip sha256sum; do
    command -v "$program" >/dev/null || die "the program $program is missing"
done
[ "$(uname -s)" = Linux ] || die "Fencepost runs on Linux only"
case $(uname -m) in
    x86_64 | amd64) arch=amd64 ;;
    aarch64 | arm64) arch=arm64 ;;
    *) die "there is no release for $(uname -m); build it from its sources" ;;
esac

work=$(mktemp -d)
new=
old=
clean_up() {
    [ -z "$old" ] || [ -e "$home" ] || mv "$old" "$home" # stopped between two renames
    rm -rf "$work" ${new:+"$new"}
}
trap clean_up EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

fetch() { # address, file
    if command -v curl >/dev/null; then
        curl -fsSL --proto '=https' --retry 3 -o "$2" "$1" || die "cannot download $1"
    elif command -v wget >/dev/null; then
        wget -q -O "$2" "$1" || die "cannot download $1"
    else
        die "neither curl nor wget is there; download the tarball and SHA256SUMS yourself, and use --file"
    fi
}

if [ -n "$file" ]; then
    [ -r "$file" ] || die "cannot read $file"
    [ -n "$sums" ] || sums=$(dirname "$file")/SHA256SUMS
    [ -r "$sums" ] || die "cannot read $sums; it comes with the release, --sums says where it is"
    name=$(basename "$file")
else
    case $releases in
        https://*) ;;
        *) die "where are the releases? Set FENCEPOST_RELEASES=https://github.com/OWNER/REPOSITORY/releases, or use --file" 64 ;;
    esac
    [ "$version" = latest ] && from=$releases/latest/download || from=$releases/download/v${version#v}
    sums=$work/SHA256SUMS
    fetch "$from/SHA256SUMS" "$sums"
    # The native binary where the release has one for this machine.
    name=
    [ -n "$jre" ] || name=$(sed -n "s/^[0-9a-f]\{64\} [ *]\(fencepost-[0-9][^/ ]*-linux-$arch\.tar\.gz\)\$/\1/p" "$sums" | head -1)
    [ -n "$name" ] || name=$(sed -n "s/^[0-9a-f]\{64\} [ *]\(fencepost-jre-[^/ ]*-linux-$arch\.tar\.gz\)\$/\1/p" "$sums" | head -1)
    [ -n "$name" ] || die "the release at $from has no tarball for $arch"
    file=$work/$name
    fetch "$from/$name" "$file"
fi

wanted=$(awk -v name="$name" '$2 == name || $2 == "*" name {print $1; exit}' "$sums")
[ -n "$wanted" ] || die "$sums does not name $name"
found=$(sha256sum <"$file" | cut -d ' ' -f 1)
[ "$wanted" = "$found" ] || die "SHA-256 of $name is $found, but $sums says $wanted. Nothing was installed."

nobody_runs_it
if [ -e "$home" ] && [ ! -x "$home/fencepost" ]; then
    die "$home is there, and is not Fencepost"
fi
mkdir -p "$prefix/lib" || die "cannot write to $prefix; --prefix DIR takes another place"
# Beside its place, so that it gets there by one rename. The times of the files are kept: the AOT caches need them.
new=$(mktemp -d "$prefix/lib/.fencepost-new.XXXXXX") || die "cannot write to $prefix/lib; --prefix DIR takes another place"
tar -xzp -C "$new" --no-same-owner --strip-components=1 -f - <"$file" || die "$name cannot be unpacked"
chmod 755 "$new"
said=$("$new/fencepost" --version 2>&1) || die "the program of $name does not run here: $said"

if [ -e "$home" ]; then
    old=$prefix/lib/.fencepost-old.$$
    mv "$home" "$old"
fi
mv "$new" "$home" || die "cannot write $home"
new=
[ -z "$old" ] || rm -rf "$old"
old=

for link in $links; do
    if [ -e "$prefix/$link" ] && [ ! -L "$prefix/$link" ]; then
        echo "install.sh: $prefix/$link is there and is left alone" >&2
        continue
    fi
    mkdir -p "$(dirname "$prefix/$link")"
    ln -sfn "$(target_of "$link")" "$prefix/$link"
done
echo "$said is in $prefix; examples of jobs files and the systemd units are in $home/share/doc"
case :$PATH: in
    *:"$prefix/bin":*) ;;
    *) echo "$prefix/bin is not on your PATH" ;;
esac
