# bash completion of tally, made by: cmake --build BUILD --target command_documents

_tally_words() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$word"); }
_tally_files() { compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$word"); }
_tally_options() { [[ $word == -* ]] && _tally_words "$1"; }
# The first word that is no option, nor the value of one of $1, is the application.
_tally_program() {
  local i
  for ((i = 2; i < COMP_CWORD; i++)); do
    if [[ ${COMP_WORDS[i]} == -- ]]; then
      i=$((i + 1))
      break
    fi
    [[ ${COMP_WORDS[i]} == -* ]] || break
    [[ $1 == *" ${COMP_WORDS[i]} "* ]] && i=$((i + 1))
  done
  if ((i < COMP_CWORD)) && declare -F _command_offset >/dev/null; then
    _command_offset "$i"
  elif ((i < COMP_CWORD)); then
    _tally_files
  else
    mapfile -t COMPREPLY < <(compgen -c -- "$word")
  fi
}
_tally() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    _tally_words 'run report explain extract diff snapshot check coverage export merge top trigger calibrate predict list doctor help version --help --version'
    return
  fi
  case ${COMP_WORDS[1]} in
    run)
      case $before in
        -o | --output) _tally_files ;;
        --html) _tally_files ;;
        --frames) ;;
        --every) ;;
        --frame-per) _tally_words 'present submit label fence queue-idle' ;;
        --frame-label) ;;
        --keep) ;;
        --max-size) ;;
        --shader) ;;
        --replace) ;;
        --times) _tally_words 'off passes draws plain' ;;
        --driver) ;;
        --egl) _tally_words 'auto vendor preload off' ;;
        --sources) _tally_files ;;
        *) _tally_options '-h --help -o --output --force --html --frames --every --frame-per --frame-label --trigger --keep --max-size --shader --replace --regions --region-draws --times --statistics --branches --loops --values --clocks --memory --divergence --all-extensions --driver --egl --sources --strict -q --quiet -v --verbose' || _tally_program ' -o --output --html --frames --every --frame-per --frame-label --keep --max-size --shader --replace --times --driver --egl --sources ' ;;
      esac
      ;;
    report)
      case $before in
        --by) _tally_words 'draw pass shader line block loop value clock memory pipeline frame label counter region region-draw executable function call-tree' ;;
        --top) ;;
        --sort) ;;
        --columns) ;;
        --heatmap) _tally_files ;;
        --html) _tally_files ;;
        --against) ;;
        --counter) ;;
        --pass) ;;
        --at) ;;
        --frames) ;;
        --shader) ;;
        --depth) ;;
        --annotate) ;;
        --disassemble) ;;
        --device) _tally_files ;;
        --source) _tally_words 'auto debug glsl spirv' ;;
        --sources) _tally_files ;;
        --format) _tally_words 'text json' ;;
        --width) ;;
        *) _tally_options '-h --help --by --top --sort --columns --heatmap --html --against --force --counter --pass --at --frames --shader --merge --depth --each --annotate --disassemble --device --source --sources --format --width' || _tally_files ;;
      esac
      ;;
    explain)
      case $before in
        --frames) ;;
        --shader) ;;
        --format) _tally_words 'text json' ;;
        *) _tally_options '-h --help --frames --shader --format' || _tally_files ;;
      esac
      ;;
    extract)
      case $before in
        -o | --output) _tally_files ;;
        --source) _tally_words 'auto debug glsl spirv' ;;
        *) _tally_options '-h --help -o --output --force --spirv --source' || _tally_files ;;
      esac
      ;;
    diff)
      case $before in
        --by) _tally_words 'pass pipeline shader function line draw' ;;
        --top) ;;
        --sort) ;;
        --source) _tally_words 'auto debug glsl spirv' ;;
        --device) _tally_files ;;
        --format) _tally_words 'text markdown json' ;;
        --width) ;;
        *) _tally_options '-h --help --first --by --top --sort --source --device --format --width' || _tally_files ;;
      esac
      ;;
    snapshot)
      case $before in
        -o | --output) _tally_files ;;
        *) _tally_options '-h --help -o --output' || _tally_files ;;
      esac
      ;;
    check)
      case $before in
        --device) _tally_files ;;
        --markdown) _tally_files ;;
        --junit) _tally_files ;;
        --openmetrics) _tally_files ;;
        --sarif) _tally_files ;;
        --top) ;;
        *) _tally_options '-h --help --update --any-driver --device --markdown --junit --openmetrics --sarif --top' || _tally_files ;;
      esac
      ;;
    coverage)
      case $before in
        -o | --output) _tally_files ;;
        --format) _tally_words 'lcov cobertura' ;;
        --sources) _tally_files ;;
        *) _tally_options '-h --help -o --output --format --sources' || _tally_files ;;
      esac
      ;;
    export)
      case $before in
        --format) _tally_words 'csv jsonl callgrind speedscope collapsed pprof perfetto' ;;
        -o | --output) _tally_files ;;
        --by) _tally_words 'draw pass shader line block loop value clock memory pipeline frame label counter region region-draw executable function call-tree' ;;
        --metric) ;;
        --frames) ;;
        --shader) ;;
        --device) _tally_files ;;
        --to) _tally_files ;;
        --commit) ;;
        --scene) ;;
        *) _tally_options '-h --help --format -o --output --force --by --metric --frames --shader --device --verbatim --to --commit --scene' || _tally_files ;;
      esac
      ;;
    merge)
      case $before in
        -o | --output) _tally_files ;;
        *) _tally_options '-h --help -o --output --force' || _tally_files ;;
      esac
      ;;
    top)
      case $before in
        --by) ;;
        --sort) ;;
        --filter) ;;
        --interval) ;;
        --count) ;;
        --log) _tally_files ;;
        --driver) ;;
        --shader) ;;
        *) _tally_options '-h --help --by --sort --filter --interval --count --log --driver --shader' || _tally_files ;;
      esac
      ;;
    trigger)
      case $before in
        --frames) ;;
        *) _tally_options '-h --help --frames -q --quiet' || _tally_files ;;
      esac
      ;;
    calibrate)
      case $before in
        -o | --output) _tally_files ;;
        --device) ;;
        --programs) ;;
        *) _tally_options '-h --help -o --output --device --force --programs' || : ;;
      esac
      ;;
    predict)
      case $before in
        --device) _tally_files ;;
        --format) _tally_words 'text json' ;;
        *) _tally_options '-h --help --device --format' || _tally_files ;;
      esac
      ;;
    list)
      case $before in
        --format) _tally_words 'text json' ;;
        *) _tally_options '-h --help --metrics --queries --format' || : ;;
      esac
      ;;
    doctor)
      case $before in
        --format) _tally_words 'text json' ;;
        *) _tally_options '-h --help --format' || : ;;
      esac
      ;;
  esac
}
complete -F _tally tally
