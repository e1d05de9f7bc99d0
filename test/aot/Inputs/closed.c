/* Two artefacts in one program: parameters embedded, and loaded. On the same CPU they would give the same bits; here
 * one is for the least CPU, so scores may differ in rounding. */
#include "closed.h"
#include "digits.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { pictures = 64, pixels = 784, scores = pictures * 10 };

static float x[pictures * pixels], embedded[scores], loaded[scores];

int main(int argc, char **argv) {
  digits_net *net;
  void *workspace = malloc(DIGITS_SCORES_WORKSPACE + CLOSED_SCORES_WORKSPACE);
  int differ = 0;
  for (int i = 0; i < pictures * pixels; ++i)
    x[i] = (float)(i * 37 % 256) / 255.0f;
  if (argc < 2 || digits_net_load(&net, argv[1]) ||
      digits_scores(net, pictures, x, loaded, workspace) ||
      closed_scores(pictures, x, embedded, workspace))
    return 1;
  for (int i = 0; i < scores; ++i)
    differ += !(fabsf(embedded[i] - loaded[i]) < 1e-4f);
  printf("%d of %d scores differ\n", differ, scores);
  digits_net_free(net);
  free(workspace);
  return 0;
}
