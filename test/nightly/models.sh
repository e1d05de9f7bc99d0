#!/usr/bin/env bash
# The long form of the tests of models: full sizes. ResNet-18 learns 64 pictures by heart, a GPT of four layers a page of text, an
# LSTM foresees text that it has not seen, and the other picture nets make a step at batch 2. Prints the losses.
set -euo pipefail
cd "${MX_ROOT:-$(dirname "$0")/../..}"

build=${MX_BUILD_ROOT:-build}/release
cmake --preset release -B "$build" >/dev/null
cmake --build "$build" --target mxc
mxc=$build/bin/mxc
export MX_STDLIB=$PWD/stdlib
failed=0

last=$("$mxc" run examples/zoo.mx -- model=resnet18 batch=64 steps=30 | tail -n 1)
echo "resnet18 on 64 pictures: $last"
awk '{ exit !($NF < 0.01) }' <<<"$last" || failed=1

last=$("$mxc" run examples/gpt.mx -- steps=600 | tail -n 1)
echo "gpt on a page: $last"
awk '{ exit !($1 >= 60) }' <<<"$last" || failed=1

last=$("$mxc" run examples/lstm_lm.mx -- epochs=20 | grep '^epoch 19  perplexity')
echo "lstm language model: $last"
awk '{ exit !($NF < 55) }' <<<"$last" || failed=1

for model in resnet50 inception vgg16 alexnet mobilenet densenet121; do
  last=$("$mxc" run examples/zoo.mx -- model=$model | tail -n 1)
  echo "$model: $last"
  awk '{ exit !($NF > 0 && $NF < 20) }' <<<"$last" || failed=1
done
exit $failed
