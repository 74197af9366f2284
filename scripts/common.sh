# Sourced by the scripts: where things are, and nothing written outside the checkout.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export CCACHE_DIR=${CCACHE_DIR:-$root/.deps/ccache}
export XDG_CACHE_HOME=$root/.deps/cache
export XDG_CONFIG_HOME=$root/.deps/config
export TALLY_CACHE_HOME=$XDG_CACHE_HOME

# say TEXT: what comes next, with the time since the script began.
say() { printf '\n[%3ds] %s\n' "$SECONDS" "$*"; }

# build PRESET [CMAKE OPTION...] [-- TARGET...]: configures and builds.
build() {
  local preset=$1 options=()
  shift
  while [ $# -gt 0 ] && [ "$1" != -- ]; do
    options+=("$1")
    shift
  done
  [ $# -eq 0 ] || shift
  (cd "$root" && cmake --preset "$preset" "${options[@]}" >/dev/null && ninja -C "build/$preset" "$@")
}
