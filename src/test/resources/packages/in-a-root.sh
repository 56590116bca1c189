#!/bin/sh
# Installs a Debian package in a fresh Debian 12 and shows that its service runs and that store and tokens outlive it. Needs root,
# debootstrap and a Debian mirror:
#   in-a-root.sh DEB FOLDER [MIRROR]
# There is no systemd in the root: the service is started by what the unit says, as the user that the unit says.
set -eu

if [ -z "${IN_A_NAMESPACE:-}" ]; then
    # Whatever is started below ends with this script, and nothing is mounted outside.
    exec env IN_A_NAMESPACE=yes unshare --mount --pid --fork --kill-child sh "$0" "$@"
fi
deb=$1
root=$2/root
mirror=${3:-}
log=$2/log
export DEBIAN_FRONTEND=noninteractive
export LC_ALL=C.UTF-8

fail() {
    echo "FAILED: $1" >&2
    tail -n 30 "$log" >&2 || true
    exit 1
}
shown() {
    echo "shown: $1"
}
clean="env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive"
inside() { # command in the root
    # shellcheck disable=SC2086
    chroot "$root" $clean "$@"
}
unit() { # key of the unit
    sed -n "s/^$1=//p" "$root/lib/systemd/system/fencepost.service" | head -1
}
user() { # how a command becomes that of the service
    echo "setpriv --reuid $(unit User) --regid $(unit Group) --init-groups --no-new-privs env HOME=/var/lib/fencepost STATE_DIRECTORY=/var/lib/fencepost"
}
as_the_service() { # command in the root
    # shellcheck disable=SC2046
    inside $(user) "$@"
}
start() {
    # Each of these becomes the next one, so that the number is that of the service.
    # shellcheck disable=SC2046,SC2086
    chroot "$root" $clean $(user) $(unit ExecStart) >>"$log" 2>&1 &
    service=$!
    for second in $(seq 60); do
        ! inside fencepost health >/dev/null 2>&1 || return 0
        kill -0 "$service" 2>/dev/null || fail "the service ended"
        sleep 1
    done
    fail "no service after $second s"
}
stop() {
    kill -TERM "$service"
    code=0
    wait "$service" || code=$?
    [ "$code" = 0 ] || fail "the service ended with $code"
}
token() {
    as_the_service fencepost lease inspect tick --config /etc/fencepost/fencepost.yaml --json | grep -oE '"fence": ?"?[0-9]+' | grep -oE '[0-9]+$'
}
await_token_above() { # number
    for second in $(seq 60); do
        now=$(token || echo 0)
        [ "$now" -le "$1" ] || return 0
        sleep 1
    done
    fail "no tick within $second s"
}

debootstrap --variant=minbase --include=adduser,ca-certificates,procps bookworm "$root" ${mirror:+"$mirror"} >"$log" 2>&1 || fail debootstrap
mount --bind "$root" "$root" # as in a real system, / is a mount point
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
cp "$deb" "$root/fencepost.deb"
package=$(dpkg-deb --field "$deb" Package)

inside apt-get install -y --no-install-recommends /fencepost.deb >>"$log" 2>&1 || fail "apt-get install"
[ "$(inside stat -c '%U %a' /var/lib/fencepost)" = "fencepost 700" ] || fail "rights of /var/lib/fencepost"
inside fencepost validate --config /etc/fencepost/fencepost.yaml >>"$log" 2>&1 || fail "the jobs file of the package is refused"
shown "apt-get install of $package: user, state directory, a jobs file that is valid"

# An authority that the JDK of no build knows.
inside openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=ours -addext subjectAltName=IP:127.0.0.1 \
    -keyout /root/key.pem -out /usr/local/share/ca-certificates/ours.crt >>"$log" 2>&1 || fail "openssl req"
inside openssl s_server -accept 127.0.0.1:0 -www -key /root/key.pem -cert /usr/local/share/ca-certificates/ours.crt >"$2/server" 2>&1 &
port=
for second in $(seq 20); do
    port=$(sed -n 's/^ACCEPT .*://p' "$2/server")
    [ -z "$port" ] || break
    sleep 1
done
ask() {
    inside fencepost health --url "https://127.0.0.1:$port" 2>&1 | tee -a "$log"
}
ask | grep -q 'certification path' || fail "a server of an authority that nobody knows was trusted"
inside update-ca-certificates >>"$log" 2>&1 || fail update-ca-certificates
ask | grep -q 'no health check: status 200' || fail "an authority of the machine is not trusted"
shown "HTTPS trusts the authorities of the machine"

cat >"$root/etc/fencepost/fencepost.yaml" <<'YAML'
store: sqlite:/var/lib/fencepost/fencepost.db
jobs:
  tick: { every: 1s, command: [id, -un] }
YAML
start
await_token_above 2
as_the_service fencepost logs tick --config /etc/fencepost/fencepost.yaml >"$2/logs" 2>&1 || true
grep -q fencepost "$2/logs" || fail "the job did not run as fencepost"
stop
first=$(token)
shown "started by ExecStart as $(unit User): ticks run as that user, stopped with 0, token $first"

inside apt-get remove -y "$package" >>"$log" 2>&1 || fail "apt-get remove"
[ ! -e "$root/usr/lib/fencepost" ] || fail "remove left /usr/lib/fencepost"
[ -s "$root/var/lib/fencepost/fencepost.db" ] || fail "remove took the store"
inside apt-get install -y --no-install-recommends /fencepost.deb >>"$log" 2>&1 || fail "the second apt-get install"
grep -q 'tick:' "$root/etc/fencepost/fencepost.yaml" || fail "the jobs file was replaced"
[ "$(token)" = "$first" ] || fail "another token after the second installation: $(token), not $first"
start
await_token_above "$first"
stop
second=$(token)
shown "removed and installed again: store, tokens and jobs file are there, and tokens rose from $first to $second"

inside dpkg -i /fencepost.deb >>"$log" 2>&1 || fail "dpkg -i over itself"
[ "$(token)" = "$second" ] || fail "an upgrade changed the token"
shown "unpacked over itself, as an upgrade does: token $second"

inside apt-get purge -y "$package" >"$2/purge" 2>&1 || fail "apt-get purge"
[ -s "$root/var/lib/fencepost/fencepost.db" ] || fail "a purge without an answer deleted the store"
grep -q 'the store is kept.*/var/lib/fencepost' "$2/purge" || fail "the purge did not say where the store is: $(cat "$2/purge")"
[ ! -e "$root/etc/fencepost/fencepost.yaml" ] || fail "purge left the jobs file"
shown "a purge that nobody answers keeps the store and says where it is"

inside apt-get install -y --no-install-recommends /fencepost.deb >>"$log" 2>&1 || fail "the third apt-get install"
echo "$package fencepost/purge-store boolean true" | inside debconf-set-selections
inside apt-get purge -y "$package" >>"$log" 2>&1 || fail "the second apt-get purge"
[ ! -e "$root/var/lib/fencepost" ] || fail "a purge that was answered with yes kept the store"
shown "a purge that is answered with yes deletes it"
