# What writes a file as a whole (save, mxc fmt, mxc build, :save) replaces regular files only, keeps their mode, and writes to no
# file that has the temporary name.
# REQUIRES: mxc
# RUN: bash %s %mxc %t | FileCheck %s
set -eu
mxc=$1 folder=$2
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"
export MX_CACHE_DIR=$folder/cache
echo 'save("out", x=ones([3]))' > save.mx
echo 'export graph fn f(x: f32[4]) -> f32[4] { x + 1.0 }' > exported.mx
echo 'print(1)' > program.mx
writers=(
  'run save.mx' 'fmt out' 'build --obj -o out exported.mx' 'build --lib -o out exported.mx' 'build --exe -o out program.mx'
)
before() { stat -c '%F %a %t %T' "$1"; }
check() { # name of the odd file, which is moved to `out`
  mv "$1" out
  was=$(before out)
  for writer in "${writers[@]}" prompt; do
    if [ "$writer" = prompt ]; then
      timeout 60 "$mxc" > said 2>&1 <<< $'let a = 1\n:save! out\n' || true
    else
      # A pipe has something to read for those that read it first.
      timeout 60 "$mxc" $writer > said 2>&1 && { echo "$1: $writer succeeded"; exit 1; }
    fi
    grep -qE 'not a regular file|it is a directory' said || { echo "$1: $writer said:"; cat said; exit 1; }
    [ "$(before out)" = "$was" ] || { echo "$1: $writer made $(before out) of $was"; exit 1; }
    [ ! -e out.tmp ] || { echo "$1: $writer left out.tmp"; exit 1; }
  done
  rm -r out
  echo "$1 stays"
}
mkfifo pipe && check pipe
mkdir inner && check inner
ln -s /dev/null linked
[ -c /dev/null ] && check linked
# Only some users may make a device.
if mknod device c 1 3 2> /dev/null; then check device; fi

# The mode of the old file, whatever the mask.
umask 022
for mode in 600 664 755; do
  rm -f out && "$mxc" run save.mx && chmod $mode out && "$mxc" run save.mx && [ "$(stat -c %a out)" = $mode ]
done
printf 'let  a=1\n' > a.mx && chmod 600 a.mx && "$mxc" fmt a.mx && [ "$(stat -c %a a.mx)" = 600 ]
rm -f out && "$mxc" build --exe -o out program.mx > /dev/null && [ "$(stat -c %a out)" = 755 ] && ./out
echo "modes are kept"

# A hard link under the temporary name.
rm -f out && echo precious > other && ln other out.tmp && "$mxc" run save.mx && cat other
# A symbolic one.
ln -s other out.tmp && ! "$mxc" run save.mx 2> said && cat said other
# CHECK: pipe stays
# CHECK-NEXT: inner stays
# CHECK-NEXT: linked stays
# CHECK: modes are kept
# CHECK-NEXT: precious
# CHECK-NEXT: error[R0601]: cannot write `out`: its name with `.tmp`, which is written first, is a link or no regular file
# CHECK: precious
