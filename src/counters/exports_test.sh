#!/bin/sh
# exports_test.sh LIBRARY FUNCTION...: the layer shows the application these functions only (sorted by name) and brings
# no C++ library with it.
set -eu
library=$1
shift
case $library in
  *.dll)
    headers=$(objdump -p "$library")
    symbols=$(echo "$headers" | sed -n '/^\[Ordinal/,/^$/ s/.* \([A-Za-z_]*\)$/\1/p' | grep -v Table | sort | xargs)
    libraries=$(echo "$headers" | sed -n 's/.*DLL Name: /NEEDED /p')
    ;;
  *)
    symbols=$(nm -D --defined-only "$library" | awk '{print $NF}' | sort | xargs)
    libraries=$(readelf -d "$library")
    ;;
esac
if [ "$symbols" != "$*" ]; then
  echo "exported symbols:" "$symbols" >&2
  exit 1
fi
if echo "$libraries" | grep NEEDED | grep -E 'libstdc\+\+|libgcc_s|libwinpthread|SPIRV'; then
  echo "$library needs libraries that the application may have in another version" >&2
  exit 1
fi
