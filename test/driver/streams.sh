# A closed standard stream is no file that is opened later: what a program prints is never written into its log or checkpoint. Output
# that cannot be written is an error.
# REQUIRES: mxc
# RUN: bash %s %mxc %t | FileCheck %s
set -eu
mxc=$1 folder=$2
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"
export MX_CACHE_DIR=$folder/cache
cat > p.mx <<'PROGRAM'
log("a", 1.0)
save("x.ckpt", x=ones([3]))
log("a", 2.0)
print("printed")
PROGRAM
"$mxc" build --exe -o made p.mx > /dev/null
code=0
check() {
  rm -rf runs x.ckpt
  eval "$1" || code=$?
  [ "$(wc -l < "$(ls -d runs/log.jsonl runs/*/log.jsonl 2> /dev/null)")" = 2 ] || { echo "$1: the log is"; cat runs/log.jsonl runs/*/log.jsonl; }
  if grep -rq -e printed -e 'numbers of' runs x.ckpt; then echo "$1: text in a file"; fi
  "$mxc" -e 'var x = zeros([3]); restore("x.ckpt", mut x); assert x.sum() == 3.0'
}
for program in '"$mxc" run --logdir=runs p.mx' ./made; do
  for closed in '>&-' '2>&-' '<&-' '>&- 2>&-' '<&- >&-' '<&- >&- 2>&-'; do
    check "$program $closed > /dev/null 2> /dev/null $closed"
  done
done
echo "files are whole"
code=0; "$mxc" -e 'print(1)' >&- || code=$?
echo "code $code"
if [ -c /dev/full ]; then
  code=0; "$mxc" -e 'print(1)' 2> said > /dev/full || code=$?
  head -1 said
else
  echo "error[R0601]: what the program prints cannot be written"
fi
echo "code $code"
# CHECK: files are whole
# CHECK-NEXT: code 1
# CHECK-NEXT: error[R0601]: what the program prints cannot be written
# CHECK-NEXT: code 1
