# A checkpoint is the old one or the new one, whole, after a kill at any call to the system, and when
# such a call fails.
# REQUIRES: strace
# RUN: bash %s %mxc %t
set -eu
mxc=$1 folder=$2
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"
export MX_CACHE_DIR=$folder/cache
cat > save.mx <<'PROGRAM'
const n = option("n", 0)
save("state.ckpt", x=ones([1000]) * f32(n), n)
print("saved")
PROGRAM
cat > check.mx <<'PROGRAM'
var n = 0
var x = zeros([1000])
restore("state.ckpt", mut n, mut x)
assert all(x == f32(n)), "torn"
print("whole", n)
PROGRAM
"$mxc" run save.mx -- n=1 > /dev/null
holds() { # exactly these states are allowed
  found=$("$mxc" run check.mx)
  case " $* " in
    *" ${found#whole } "*) ;;
    *) echo "$found after $how, one of $* was expected"; exit 1 ;;
  esac
}
points=0
for call in openat flock fchmod write fsync rename; do
  for ending in signal=KILL error=EIO error=ENOSPC; do
    for k in 1 2 3 4; do
      # Only calls about the checkpoint count: strace follows its paths.
      how="$call number $k, $ending"
      "$mxc" run save.mx -- n=1 > /dev/null
      strace -f -qq -o trace -P state.ckpt -P state.ckpt.tmp -P "$PWD/state.ckpt.tmp" -P "$PWD" -P . \
        -e trace="$call" -e inject="$call:$ending:when=$k" \
        "$mxc" run save.mx -- n=2 > out 2>&1 && result=0 || result=$?
      grep -q INJECTED trace || [ $result -ge 128 ] || break
      points=$((points + 1))
      if [ $result -eq 0 ]; then holds 2; else holds 1 2; fi
      if [ $result -eq 1 ] && ! grep -q 'R0601' out; then
        echo "no error of the program after $how:"; cat out; exit 1
      fi
    done
  done
done
echo "$points points"
[ $points -ge 20 ]
# What a dead writer left does not hinder the next one.
echo rubbish > state.ckpt.tmp
"$mxc" run save.mx -- n=3 > /dev/null
how="a leftover" holds 3
# A full disk is an error of the program, and the old file stays.
if [ -c /dev/full ]; then
  rm -f state.ckpt.tmp
  ln -s /dev/full state.ckpt.tmp
  if "$mxc" run save.mx -- n=4 > out 2>&1; then echo "a full disk was not noticed"; exit 1; fi
  how="a full disk" holds 3
fi
