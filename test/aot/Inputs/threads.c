/* Eight threads call one network at the same time, each with a workspace of its own. */
#include "digits.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { threads = 8, calls = 20, pictures = 3, pixels = 784 };

static digits_net *net;
static float x[pictures * pixels], wanted[pictures * 10];

static void *work(void *user) {
  float out[pictures * 10];
  void *workspace = malloc(DIGITS_SCORES_WORKSPACE);
  for (int i = 0; i < calls; ++i)
    if (digits_scores(net, pictures, x, out, workspace) || memcmp(out, wanted, sizeof out) != 0)
      ++*(int *)user;
  free(workspace);
  return NULL;
}

int main(int argc, char **argv) {
  pthread_t thread[threads];
  int wrong[threads] = {0}, sum = 0;
  void *workspace = malloc(DIGITS_SCORES_WORKSPACE);
  for (int i = 0; i < pictures * pixels; ++i)
    x[i] = (float)(i * 37 % 256) / 255.0f;
  if (argc < 2 || digits_net_load(&net, argv[1]) ||
      digits_scores(net, pictures, x, wanted, workspace))
    return 1;
  for (int i = 0; i < threads; ++i)
    if (pthread_create(&thread[i], NULL, work, &wrong[i]))
      return 1;
  for (int i = 0; i < threads; ++i) {
    pthread_join(thread[i], NULL);
    sum += wrong[i];
  }
  printf("%d threads, %d differ\n", threads, sum);
  free(workspace);
  digits_net_free(net);
  return 0;
}
