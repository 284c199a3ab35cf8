# Sourced by ./check and ./quickstart: installs what this Debian machine lacks, and says what; defines what steps.sh does.
. .ci/steps.sh

packages=(
  clang-22 libclang-22-dev llvm-22-dev llvm-22-tools lld-22 libclang-rt-22-dev   # compiler, LibTooling, lit, fuzzing
  cmake ninja-build ccache git python3 python3-venv
  dpkg-dev file                                                                  # cpack
  libfmt-dev libcli11-dev libgtest-dev libstdc++-12-dev libzstd-dev zlib1g-dev
)

# What nvcc preprocesses with, where there is nvcc (steps.sh has put it on the path).
! command -v nvcc >/dev/null || packages+=(g++)

install_missing() {
  local missing=() package
  if ! command -v dpkg-query >/dev/null; then
    echo "not a Debian machine: taking for granted what CONTRIBUTING.md lists" >&2
    return
  fi
  for package in "${packages[@]}"; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  echo "installing ${missing[*]}"
  local sudo=()
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || { echo "needs root or sudo to install them" >&2; exit 1; }
    sudo=(sudo)
  fi
  local log; log=$(mktemp)
  if ! { "${sudo[@]}" apt-get -qq update && "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
         apt-get -qq install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    echo "apt-get failed; its output is in $log" >&2
    exit 1
  fi
  rm -f "$log"
}

install_missing
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
