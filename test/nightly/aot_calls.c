/* What calls of code that was built ahead cost, from C: the first result of a process, and a call after many.
 * test/nightly/aot.sh builds it. */
#include "digits.h"
#include "tiny.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv) {
  static float x[784], out[10];
  int32_t digit;
  void *workspace = malloc(DIGITS_PREDICT_WORKSPACE + TINY_MLP_WORKSPACE);
  double begin = now();
  digits_net *net;
  tiny_net *small;
  if (argc < 3 || digits_net_load(&net, argv[1]) || tiny_net_load(&small, argv[2]))
    return 1;
  for (int i = 0; i < 784; ++i)
    x[i] = (float)(i * 37 % 256) / 255.0f;
  if (digits_predict(net, 1, x, &digit, workspace))
    return 1;
  double first = now() - begin;
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  printf("lenet: parameters and first result %.3f ms, resident %ld KB\n", first / 1e6, usage.ru_maxrss);
  enum { rounds = 20, calls = 20000 };
  double best = 1e30, lenet = 1e30;
  for (int r = 0; r < rounds; ++r) {
    begin = now();
    for (int i = 0; i < calls; ++i)
      if (tiny_mlp(small, x, out, workspace))
        return 1;
    double each = (now() - begin) / calls;
    best = each < best ? each : best;
    begin = now();
    for (int i = 0; i < calls / 200; ++i)
      if (digits_predict(net, 1, x, &digit, workspace))
        return 1;
    each = (now() - begin) / (calls / 200);
    lenet = each < lenet ? each : lenet;
  }
  printf("tiny mlp 64-32-8: %.0f ns a call\nlenet: %.1f us a call\n", best, lenet / 1e3);
  return 0;
}
