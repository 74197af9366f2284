# Sourced: start_x_server FOLDER starts an X server and sets DISPLAY, and `server` to its process, which the caller ends. The
# server chooses a free display number and prints it: xvfb-run -a guesses one, and two concurrent runs can collide. -noreset
# keeps it from resetting when a client disconnects, which could refuse the next client.
start_x_server() {
  local number
  mkfifo "$1/display"
  Xvfb -displayfd 3 -screen 0 640x480x24 -nolisten tcp -noreset 3>"$1/display" 2>/dev/null &
  server=$!
  read -r number <"$1/display"
  export DISPLAY=:$number
}
