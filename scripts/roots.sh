# Sourced: root folders of Debian suites, kept in .deps/roots, and commands that run in them. Needs root's rights, because packages
# are installed there, and mmdebstrap and bubblewrap: run `scripts/setup package` first.
roots=$root/.deps/roots
mirror=${TALLY_DEBIAN_MIRROR:-http://deb.debian.org/debian}

# packages_of GROUP...: what scripts/packages.txt lists, separated by commas.
packages_of() {
  local group
  for group; do
    awk -v group="[$group]" '/^\[/ { on = $1 == group; next } on && NF && $1 !~ /^#/ { sub(":.*", "", $1); print $1 }' "$root/scripts/packages.txt"
  done | paste -sd,
}

# make_root NAME SUITE PACKAGES [ARCHITECTURES]: the folder .deps/roots/NAME, if it is not there with the same packages.
# Programs of the first architecture run, those after it can be compiled for.
make_root() {
  local name=$1 suite=$2 packages=$3 architectures=${4:-$(dpkg --print-architecture)} wanted
  wanted="$suite $packages $architectures"
  [ "$(cat "$roots/$name.packages" 2>/dev/null)" = "$wanted" ] && return
  say "root $name: Debian $suite"
  rm -rf "${roots:?}/$name" "$roots/$name.packages"
  mkdir -p "$roots"
  # A mirror may be a snapshot that is older than its own dates allow; signatures are checked all the same.
  mmdebstrap --quiet --variant=apt --architectures="$architectures" --aptopt='APT::Install-Recommends "false"' \
    --aptopt='Acquire::Check-Valid-Until "false"' --include="$packages" "$suite" "$roots/$name" "$mirror"
  echo "$wanted" >"$roots/$name.packages"
}

# copy_of NAME: a fresh copy of the root, for a command that changes it; printed. The caller removes it.
copy_of() {
  local copy
  copy=$(mktemp -d "$roots/copy-XXXXXX")
  cp -a --reflink=auto "$roots/$1/." "$copy"
  echo "$copy"
}

# in_root FOLDER [BWRAP OPTION...] -- COMMAND...: runs the command as root of the folder, with processes and mounts of its own
# and nothing of our environment.
in_root() {
  local folder=$1 options=()
  shift
  while [ "$1" != -- ]; do
    options+=("$1")
    shift
  done
  shift
  bwrap --bind "$folder" / --proc /proc --dev /dev --perms 1777 --tmpfs /tmp --ro-bind /etc/resolv.conf /etc/resolv.conf \
    --unshare-pid --die-with-parent --cap-add ALL --clearenv --setenv PATH /usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    --setenv HOME /root --setenv LC_ALL C.UTF-8 --setenv DEBIAN_FRONTEND noninteractive "${options[@]}" "$@"
}

# run_arm64_programs: has the kernel run arm64 programs with qemu-user, also those that programs start.
run_arm64_programs() {
  ! grep -qs enabled /proc/sys/fs/binfmt_misc/qemu-aarch64 || return 0
  mountpoint -q /proc/sys/fs/binfmt_misc || mount -t binfmt_misc none /proc/sys/fs/binfmt_misc
  cat /usr/lib/binfmt.d/qemu-aarch64.conf >/proc/sys/fs/binfmt_misc/register
}

# make_arm64_root: the folder .deps/roots/bookworm-arm64 with Debian's cross compiler, and the arm64 packages of what we link
# and of lavapipe.
make_arm64_root() {
  local package packages=file,crossbuild-essential-arm64,mesa-vulkan-drivers:arm64
  for package in $(packages_of build | tr , ' '); do
    case $package in
      ccache | cmake | glslang-tools | libcli11-dev | libdtl-dev | libprotozero-dev | ninja-build | nlohmann-json3-dev | \
        pkg-config | spirv-headers) packages+=,$package ;;
      lib* | zlib*) packages+=,$package:arm64 ;;
    esac
  done
  make_root bookworm-arm64 bookworm "$packages" amd64,arm64
  # The packages of SPIRV-Tools for two architectures cannot both be installed, and glslang-tools needs the one of ours.
  [ -e "$roots/bookworm-arm64/usr/lib/aarch64-linux-gnu/libSPIRV-Tools.a" ] || in_root "$roots/bookworm-arm64" -- sh -ec '
    cd /tmp
    apt-get -qq update
    apt-get -qq download spirv-tools:arm64
    dpkg --fsys-tarfile spirv-tools_*_arm64.deb | tar -x -C / ./usr/lib/aarch64-linux-gnu'
}
