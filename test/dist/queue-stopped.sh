# Ctrl-C ends the wait for an element of a queue, while the worker that could put one computes.
# RUN: bash %s %mxc %t
set -eu
mxc=$1 folder=$2
mkdir -p "$folder"
cd "$folder"
rm -f ready out
cat > waits.mx << 'PROGRAM'
import data, dist
let kv = dist.local(workers=2)
let q: data.Queue[f32] = kv.queue(capacity=1)
if kv.rank == 0 {
  save("ready", kv=1)
  print("got", q.get())
}
var x = ones([64, 64])
while true { x = tanh(x @ x) }
PROGRAM
"$mxc" run waits.mx > out 2>&1 &
program=$!
while [ ! -e ready ] && kill -0 $program 2> /dev/null; do sleep 0.01; done
kill -INT $program
wait $program && ended=0 || ended=$?
cat out
[ $ended -ne 0 ]
! grep -q 'got\|error\[' out
grep -q '^stopped$' out
