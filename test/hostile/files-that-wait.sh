# Program text comes from regular files, standard input or what a shell opened; a pipe that nobody writes, a device or a folder is
# refused at once, also where a module is imported.
# REQUIRES: mxc
# RUN: bash %s %mxc %t | FileCheck %s
set -eu
mxc=$1 folder=$2
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"
export MX_CACHE_DIR=$folder/cache
mkfifo pipe.mx
mkdir inner.mx
ln -s /dev/zero device.mx
refused() {
  if timeout 60 "$mxc" "$@" > said 2>&1; then echo "mxc $* succeeded"; exit 1; fi
  [ $? -ne 124 ] || { echo "mxc $* waits"; exit 1; }
  head -6 said
}
for name in pipe inner device; do
  echo "import $name; print(1)" > main.mx
  refused run main.mx
  for command in run check fmt doc 'build --exe -o made'; do refused $command $name.mx; done
  refused -e "import data; print(data.bytes(\"$name.mx\"))"
  printf ':load %s.mx\n' $name | timeout 60 "$mxc" 2>&1 || true
done
# CHECK: error[E0802]: module `pipe` cannot be read
# CHECK-NEXT: --> main.mx:1:8
# CHECK: `pipe.mx`: it is not a regular file
# CHECK-COUNT-7: cannot read `pipe.mx`: it is not a regular file
# CHECK: error[E0802]: module `inner` cannot be read
# CHECK: `inner.mx`: it is a directory
# CHECK-COUNT-3: cannot read `inner.mx`: it is a directory
# CHECK: mxc doc: there are no .mx files in `inner.mx`
# CHECK: mxc build: cannot read `inner.mx`: it is a directory
# CHECK: error[R0601]: cannot read `inner.mx`: it is not a regular file
# CHECK: cannot read `inner.mx`: it is a directory
# CHECK: error[E0802]: module `device` cannot be read
# CHECK: `device.mx`: it is not a regular file
# CHECK-COUNT-7: cannot read `device.mx`: it is not a regular file

# What is open already is read.
echo 'print("from standard input")' | "$mxc" run -
echo 'print("by its name")' | "$mxc" run /dev/stdin
"$mxc" run <(echo 'print("from a command")')
# CHECK: from standard input
# CHECK-NEXT: by its name
# CHECK-NEXT: from a command
