#!/bin/sh
# thread_storage.sh LIBRARY...: the libraries take none of the static thread-local storage that a process has left for those
# that it opens late, and little of any other.
set -eu
limit=128
bad=0
for library; do
  if readelf -dW "$library" | grep -q STATIC_TLS; then
    echo "$library takes static thread-local storage" >&2
    bad=1
  fi
  size=$(readelf -lW "$library" | awk '$1 == "TLS" {print $6}')
  if [ "$((${size:-0}))" -gt $limit ]; then
    echo "$library has $((size)) bytes of thread-local storage, more than $limit" >&2
    bad=1
  fi
done
exit $bad
