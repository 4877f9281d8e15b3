# Runs the server, and starts it again when it has ended.
# It reads no arguments. They are how E2B's image names the two programs that do its work there: people's scripts, and the
# tests of E2B, find and kill the server with `pkill -f` and one of these names.
while :; do
  python3 -m code_interpreter 'uvicorn main:app' jupyter-server 'jupyter server'
  sleep 1
done
