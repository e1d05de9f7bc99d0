/* Calls a network from C. See docs/guides/deploying.md. */
#include "digits.h"

#include <stdio.h>
#include <stdlib.h>

enum { pictures = 2, pixels = 784 };

int main(int argc, char **argv) {
  const char *path = argc > 1 ? argv[1] : "digits.safetensors";
  digits_net *net = NULL;
  float x[pictures * pixels];
  int32_t digit[pictures];
  void *workspace = malloc(DIGITS_PREDICT_WORKSPACE);

  for (int i = 0; i < pictures * pixels; ++i)
    x[i] = (float)(i * 37 % 256) / 255.0f;
  if (!workspace || digits_net_load(&net, path) ||
      digits_predict(net, pictures, x, digit, workspace)) {
    fprintf(stderr, "%s\n", digits_error());
    return 1;
  }
  for (int i = 0; i < pictures; ++i)
    printf("picture %d: %d\n", i, digit[i]);
  digits_net_free(net);
  free(workspace);
  return 0;
}
