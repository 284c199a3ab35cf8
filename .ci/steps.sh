# Sourced by scripts that do things one after another and keep their output in $logs; defines `step`, and finds nvcc.

# step TITLE COMMAND…: runs it quietly, prints the title and the seconds; on failure the end of its output too.
step() {
  local title=$1 start=$SECONDS log status=0; shift
  log="$logs/${title//[^a-zA-Z0-9]/-}.log"
  "$@" >"$log" 2>&1 || status=$?
  if [ "$status" = 0 ]; then
    printf '%-34s %4ds\n' "$title" $((SECONDS - start))
  else
    printf '%-34s %4ds  failed (%s)\n' "$title" $((SECONDS - start)) "$log"
    tail -n 60 "$log"
  fi
  return "$status"
}

[ ! -x /usr/local/cuda/bin/nvcc ] || PATH=$PATH:/usr/local/cuda/bin
