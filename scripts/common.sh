# Sourced by the scripts. Sets paths so that nothing is written outside the checkout; only .ci/run keeps the compiler cache
# in the user's cache folder, which outlives the checkout.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export CCACHE_DIR=${CCACHE_DIR:-$root/.deps/ccache}
export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$root}
export CCACHE_SLOPPINESS=pch_defines,time_macros  # required for caching files that use a precompiled header
export XDG_CACHE_HOME=$root/.deps/cache
export XDG_CONFIG_HOME=$root/.deps/config
export TALLY_CACHE_HOME=$XDG_CACHE_HOME
mkdir -p "$XDG_CACHE_HOME" "$XDG_CONFIG_HOME"

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

# run_tests PRESET [CTEST ARGUMENT...]: runs the tests of a test preset and prints the 20 slowest; build/tests-PRESET.xml
# holds the results as JUnit. One test more than there are cores: some wait.
run_tests() {
  local preset=$1 status=0
  shift
  (cd "$root" && ctest --preset "$preset" -j "$(($(nproc) + 1))" --output-junit "$root/build/tests-$preset.xml" "$@") || status=$?
  echo "The slowest tests, in seconds (build/tests-$preset.xml):"
  sed -n 's/.*<testcase name="\([^"]*\)".* time="\([^"]*\)".*/\2 \1/p' "$root/build/tests-$preset.xml" |
    sort -rn | awk 'NR <= 20 { printf "%8.1f  %s\n", $1, $2 }'
  return "$status"
}
