# Ctrl-C ends a training run, and starting it again gives the weights, bit for bit, of a run that never stopped.
# RUN: %python %S/make_mnist.py %t/mnist 640 50
# RUN: bash %s %mxc %t %S/../../examples/fashion_mnist.mx
set -eu
mxc=$1 folder=$2 example=$3
cd "$folder"
rm -f ./*.ckpt
export MX_CACHE_DIR=$folder/cache
run() { "$mxc" run "$example" -- data="$folder/mnist" epochs=40 checkpoint="$1"; }
run whole.ckpt > whole.txt 2>&1
grep -q '^epoch 39  test accuracy' whole.txt

"$mxc" run "$example" -- data="$folder/mnist" epochs=40 checkpoint=parts.ckpt > parts.txt 2>&1 &
training=$!
while [ ! -e parts.ckpt ] && kill -0 $training 2> /dev/null; do sleep 0.01; done
kill -INT $training 2> /dev/null || true
wait $training && ended=0 || ended=$?
# A machine may be so quick that the run was over; else it says that it was stopped.
if [ $ended -ne 0 ]; then
  grep -q '^stopped$' parts.txt
  run parts.ckpt > rest.txt 2>&1
  grep -q '^going on with epoch' rest.txt
fi
cmp whole.ckpt parts.ckpt
echo "interrupted: $ended"
