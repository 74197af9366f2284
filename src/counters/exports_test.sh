#!/bin/sh
# exports_test.sh LIBRARY: the layer shows the application one function and brings no C++ library with it.
set -eu
symbols=$(nm -D --defined-only "$1" | awk '{print $NF}')
if [ "$symbols" != "vkNegotiateLoaderLayerInterfaceVersion" ]; then
  echo "exported symbols:" "$symbols" >&2
  exit 1
fi
if readelf -d "$1" | grep NEEDED | grep -E 'libstdc\+\+|libgcc_s|SPIRV'; then
  echo "$1 needs libraries that the application may have in another version" >&2
  exit 1
fi
