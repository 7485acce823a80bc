#!/bin/sh
# Installs what is missing, by apt-get or dnf: tests/setup.sh build | packages | check | bench
#
# Each level includes the one before. What is there already is found without the package manager, so that a second run
# takes an instant and needs no network. All talk goes to standard error.
set -u

level=${1:-build}
root=$(cd "$(dirname "$0")/.." && pwd) || exit
case $level in
build | packages | check | bench) ;;
*)
  echo "usage: tests/setup.sh build | packages | check | bench" >&2
  exit 2
  ;;
esac

if command -v apt-get >/dev/null 2>&1; then
  manager=apt
elif command -v dnf >/dev/null 2>&1; then
  manager=dnf
else
  manager=none
fi

missing=
# need DEBIAN FEDORA COMMAND...: the packages (words) that make COMMAND succeed; "-" where a system has none
need ()
{
  debian=$1 fedora=$2
  shift 2
  "$@" >/dev/null 2>&1 && return
  case $manager in
  dnf) packages=$fedora ;;
  *) packages=$debian ;;
  esac
  [ "$packages" = - ] || missing="$missing $packages"
}
tool ()
{
  command -v "$1"
}
library ()
{
  for name; do
    pkg-config --exists "$name" && return
  done
  return 1
}
header ()
{
  echo "#include <$1>" | cc -E -x c -
}
module ()
{
  /usr/bin/python3 -c "import $1"
}
font ()
{
  fc-list "$1" | grep -q .
}
sanitizer () # of clang
{
  echo 'int main (void) { return 0; }' | clang -fsanitize=address -x c -o /dev/null -
}
formatter ()
{
  case $manager in
  dnf) tool clang-format ;;
  *) tool clang-format-14 ;;
  esac
}

find_missing ()
{
  missing=
  need "gcc libc6-dev" "gcc glibc-devel" header stdlib.h
  need binutils binutils tool ar
  need make make tool make
  need pkg-config pkgconf-pkg-config tool pkg-config
  need libzmq3-dev zeromq-devel library libzmq
  need "$msgpack" msgpack-devel library msgpack msgpack-c
  need libsodium-dev libsodium-devel library libsodium
  need libinih-dev inih-devel library inih
  need libjansson-dev jansson-devel library jansson
  need uthash-dev uthash-devel header uthash.h
  need libsqlite3-dev sqlite-devel library sqlite3
  need libzstd-dev libzstd-devel library libzstd
  need libhdf5-dev hdf5-devel library hdf5 hdf5-serial
  need libmicrohttpd-dev libmicrohttpd-devel library libmicrohttpd
  need zlib1g-dev zlib-devel library zlib
  need libncurses-dev ncurses-devel library ncursesw
  need libcurl4-openssl-dev libcurl-devel library libcurl
  need libsnappy-dev snappy-devel library snappy
  [ "$level" = build ] && return
  need debhelper - tool dh
  need rpm rpm-build tool rpmbuild
  [ "$level" = packages ] && return
  need lintian - tool lintian
  need rpmlint rpmlint tool rpmlint
  need libcmocka-dev libcmocka-devel library cmocka
  need "clang libclang-rt-14-dev" "clang compiler-rt" sanitizer
  need clang-format-14 clang-tools-extra formatter
  need jq jq tool jq
  need "openssh-server openssh-client" "openssh-server openssh-clients" tool /usr/sbin/sshd
  need "systemd-container systemd-sysv dbus" systemd-container tool systemd-nspawn
  need ansible-core ansible-core tool ansible-playbook
  need ansible-lint ansible-lint tool ansible-lint
  need yamllint yamllint tool yamllint
  need procps procps-ng tool vmstat
  need iproute2 iproute tool ip
  need iptables iptables-nft tool iptables
  need util-linux util-linux tool setarch
  need python3 python3 tool /usr/bin/python3
  need python3-pytest python3-pytest module pytest
  need python3-pytest-xdist python3-pytest-xdist module xdist
  need python3-zmq python3-zmq module zmq
  need python3-snappy python3-snappy module snappy
  need protobuf-compiler protobuf-compiler tool protoc
  need python3-protobuf python3-protobuf module google.protobuf
  need python3-msgpack python3-msgpack module msgpack
  need python3-pyte python3-pyte module pyte
  need python3-psutil python3-psutil module psutil
  need python3-h5py python3-h5py module h5py
  need python3-pandas python3-pandas module pandas
  need python3-tables python3-tables module tables
  need gnuplot-nox gnuplot tool gnuplot
  need "fonts-dejavu-core fontconfig" "dejavu-sans-fonts fontconfig" font "DejaVu Sans"
  need prometheus golang-github-prometheus tool promtool
  need python3-prometheus-client python3-prometheus_client module prometheus_client
  need python3-jsonschema python3-jsonschema module jsonschema
  need openssl openssl tool openssl
  need poppler-utils poppler-utils tool pdftoppm
  need python3-pil python3-pillow module PIL
  [ "$level" = check ] && return
  need prometheus-node-exporter golang-github-prometheus-node-exporter exporter
  need collectd-core collectd test -x /usr/sbin/collectd
}

as_root ()
{
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null 2>&1; then
    sudo "$@"
  else
    echo "setup: this needs root, and there is no sudo. As root, install:$missing" >&2
    exit 1
  fi
}

# shellcheck disable=SC2086 # packages are words
install_missing ()
{
  case $manager in
  # RUNLEVEL=1: no service is started by being installed
  apt) as_root env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -y -q --no-install-recommends $missing ;;
  dnf) as_root dnf install -y -q $missing ;;
  *)
    echo "setup: neither apt-get nor dnf is here. Please install:$missing" >&2
    exit 1
    ;;
  esac
}

exporter ()
{
  tool prometheus-node-exporter || tool node_exporter
}
victoria ()
{
  tool victoria-metrics || tool victoria-metrics-prod
}
nats_server ()
(
  PATH=$PATH:/usr/sbin
  tool nats-server
)
loads () # one of these libraries
{
  for name; do
    /usr/bin/python3 -c "import ctypes, sys; ctypes.CDLL (sys.argv[1])" "$name" && return
  done
  return 1
}
kafka ()
{
  tool kcat && loads librdkafka.so.1
}
web_server ()
(
  PATH=$PATH:/usr/sbin
  tool nginx
)
apache ()
(
  PATH=$PATH:/usr/sbin
  tool apache2
)
browser ()
{
  tool chromium || tool chromium-browser
}
slurm ()
(
  PATH=$PATH:/usr/sbin
  tool slurmctld && tool slurmd && tool slurmdbd && tool srun && tool munged && tool mariadbd
)
# wish DEBIAN FEDORA COMMAND...: as need, of what is not to be had everywhere: without it its tests are skipped
wish ()
{
  missing=
  need "$@"
  [ -z "$missing" ] && return
  echo "setup ($level): installing$missing" >&2
  [ "$manager" = apt ] && (as_root apt-get update -q) >&2
  (install_missing) >&2 || echo "setup: there is no$missing here; tests that need it are skipped" >&2
}
try_more ()
{
  case $level in build | packages) return ;; esac
  wish chromium chromium browser
  wish nginx-light nginx web_server
  wish apache2-bin - apache
  wish victoria-metrics - victoria
  wish influxdb influxdb tool influxd
  wish nats-server nats-server nats_server
  wish "libnats3.4" cnats loads libnats.so.3.4 libnats.so
  wish "librdkafka1 kcat" "librdkafka kcat" kafka
  wish zstd zstd tool zstd
  wish lld lld tool ld.lld # without it sanitized builds are linked by the usual linker
  wish prometheus-node-exporter golang-github-prometheus-node-exporter exporter
  wish "slurmctld slurmd slurmdbd slurm-client munge mariadb-server-core" \
    "slurm slurm-slurmctld slurm-slurmd slurm-slurmdbd munge mariadb-server" slurm
}

# What ansible/packages/npm names comes from npm: uPlot into build/page; for tests axe-core into build/tests, and readers of
# Parquet and Arrow, which stay in build/npm.
for_tests ()
{
  case $level in build | packages) return 1 ;; esac
}
has_page ()
{
  [ -e "$root/build/page/uplot/uPlot.esm.js" ] || return 1
  ! for_tests || { [ -e "$root/build/tests/axe/axe.min.js" ] && [ -e "$root/build/npm/node_modules/parquet-wasm" ]; }
}
fetch_page ()
(
  has_page && exit
  mkdir -p "$root/build/npm" "$root/build/page/uplot" "$root/build/tests/axe" && cd "$root/build/npm" || exit
  tried=tried omit=--omit=dev
  for_tests && tried=tried-for-tests omit=--include=dev
  if [ -z "$(find . -maxdepth 1 -name $tried -mmin -60)" ]; then # without a network each try takes a while
    touch $tried
    wish npm npm tool npm
    cp ../../ansible/packages/npm/*.json . &&
      timeout 300 npm ci $omit --silent --no-audit --no-fund --fetch-retries=1 >&2 &&
      cp node_modules/uplot/LICENSE ../page/uplot/uPlot-MIT &&
      cp node_modules/uplot/dist/uPlot.min.css node_modules/uplot/dist/uPlot.esm.js ../page/uplot &&
      for_tests && cp node_modules/axe-core/axe.min.js ../tests/axe
  fi
  has_page && exit
  echo "setup: uPlot, or what tests need of npm, is not here, since npm or the network is not: the page will be without curves," \
    "some tests are skipped" >&2
)

msgpack=libmsgpack-dev
find_missing
if [ -z "$missing" ]; then
  try_more
  fetch_page
  exit 0
fi

echo "setup ($level): installing$missing" >&2
[ "$manager" = apt ] && as_root apt-get update -q >&2
case " $missing " in
*" libmsgpack-dev "*)
  if [ "$manager" = apt ] && apt-cache show libmsgpack-c-dev >/dev/null 2>&1; then
    msgpack=libmsgpack-c-dev # its name in newer releases
    find_missing
  fi
  ;;
esac
if ! install_missing >&2; then
  echo "setup: that failed; once more" >&2
  sleep 2
  [ "$manager" = apt ] && as_root apt-get update -q >&2
  install_missing >&2
fi
find_missing
if [ -n "$missing" ]; then
  echo "setup: still missing:$missing" >&2
  exit 1
fi
try_more
fetch_page
