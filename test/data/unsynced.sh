# After a power cut there is the old checkpoint or the new one, whatever the disk lost of what was not made durable; and a disk
# without room keeps the old one.
# REQUIRES: strace
# RUN: bash %s %mxc %t %S/unsynced.py %python
set -eu
mxc=$1 folder=$2 simulate=$3 python=$4
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"
export MX_CACHE_DIR=$folder/cache
cat > save.mx <<'PROGRAM'
const n = option("n", 0)
save("state.ckpt", x=ones([20000]) * f32(n), y=ones([7]) * f32(n), n)
PROGRAM
cat > check.mx <<'PROGRAM'
var n = 0
var x = zeros([20000])
restore("state.ckpt", mut n, mut x)
assert all(x == f32(n)), "torn"
print("whole", n)
PROGRAM
"$mxc" run save.mx -- n=1
cp state.ckpt old
strace -f -y -xx -s 1000000 -o trace -e trace=openat,write,ftruncate,fsync,fdatasync,rename,renameat,renameat2,unlink,unlinkat \
  "$mxc" run save.mx -- n=2
"$python" "$simulate" trace old state.ckpt 20000

# No more room behind the first 40,000 bytes: the limit on the size of a file stands for a full disk.
(
  trap '' XFSZ
  ulimit -f 40
  if "$mxc" run save.mx -- n=3 > out 2>&1; then echo "the limit was not noticed"; exit 1; fi
)
grep -q 'R0601' out
[ "$("$mxc" run check.mx)" = "whole 2" ]
# The same on a real one, where that is allowed.
mkdir -p disk
full() {
  mount -t tmpfs -o size=256k none disk && cp save.mx check.mx disk && cd disk &&
    "$mxc" run save.mx -- n=4 && dd if=/dev/zero of=filler bs=1k count=150 2> /dev/null &&
    if "$mxc" run save.mx -- n=5 > out 2>&1; then echo "the full disk was not noticed"; exit 1; fi
  grep -q 'R0601.*No space left' out && [ "$("$mxc" run check.mx)" = "whole 4" ] && [ ! -e state.ckpt.tmp ]
}
export -f full
export mxc
if unshare -rm true 2> /dev/null; then unshare -rm bash -euc full; fi
