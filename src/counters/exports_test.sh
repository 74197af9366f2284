#!/bin/sh
# exports_test.sh LIBRARY FUNCTION...: the layer shows the application these functions only (sorted by name) and brings
# no C++ library with it.
set -eu
library=$1
shift
symbols=$(nm -D --defined-only "$library" | awk '{print $NF}' | sort | xargs)
if [ "$symbols" != "$*" ]; then
  echo "exported symbols:" "$symbols" >&2
  exit 1
fi
if readelf -d "$library" | grep NEEDED | grep -E 'libstdc\+\+|libgcc_s|SPIRV'; then
  echo "$library needs libraries that the application may have in another version" >&2
  exit 1
fi
