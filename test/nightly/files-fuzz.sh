#!/usr/bin/env bash
# Long runs of the readers of file formats, as those of the syntax.

set -euo pipefail
exec "$(dirname "${BASH_SOURCE[0]}")/syntax-fuzz.sh" \
  idx idx_gz npy npz csv text safetensors checkpoint records record_index image_records jpeg png bpe merges
