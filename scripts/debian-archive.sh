# Sourced: packages from Debian's archive, for use in this checkout. The package lists are of our own, in $work: the
# system's need not be there and stay as they are. Needs $work, a folder.
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Codename: bookworm' 2>/dev/null | head -n 1)
mirror=${mirror:-http://deb.debian.org/debian/}

# archive KIND SUITE COMMAND PACKAGE...: apt-get COMMAND into $work, from the suite (KIND deb or deb-src); where KIND is
# "system", from where the system gets its packages.
archive() {
  local kind=$1 suite=$2
  shift 2
  mkdir -p "$work/lists/partial"
  local apt=(apt-get -qq -oAPT::Sandbox::User=root -oDir::State::Lists="$work/lists" -oDir::Cache::pkgcache=
    -oDir::Cache::srcpkgcache= -oAcquire::Languages=none)
  if [ "$kind" != system ]; then
    echo "$kind [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" >"$work/sources.list"
    apt+=(-oDir::Etc::sourcelist="$work/sources.list" -oDir::Etc::sourceparts=-)
  fi
  "${apt[@]}" update
  (cd "$work" && "${apt[@]}" "$@")
}
