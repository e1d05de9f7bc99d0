#!/bin/sh
# Stands for ssh and srun: drops their options, and runs the command here, or in the network namespace of
# the host if $NAMESPACES is set. As the original, it stays until the command has ended.
#
#   ssh -o BatchMode=yes HOST COMMAND        srun --option… COMMAND
exec 3<&0 # the input of a background command is empty
case $0 in
  *ssh)
    [ "$1 $2" = "-o BatchMode=yes" ] || exit 99
    shift 2
    host=$1
    shift
    ${NAMESPACES:+ip netns exec "$NAMESPACES-$host"} sh -c "$*" <&3 &
    ;;
  *srun)
    while [ "${1#--}" != "$1" ]; do
      echo "$1" >>"${SRUN_LOG:-/dev/null}"
      shift
    done
    "$@" <&3 &
    ;;
esac
child=$!
trap 'kill -TERM $child' TERM
wait $child
code=$?
[ $code -gt 128 ] && exit 255
exit $code
