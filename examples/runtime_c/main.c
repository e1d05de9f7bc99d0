// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime from C: make tensors, issue kernels that depend on each other,
// wait for a result, and see an error that happened later than its cause.

#include "mxrt/call.h"
#include "mxrt/random.h"
#include "mxrt/runtime.h"
#include "mxrt/tensor.h"

#include <math.h>
#include <stdio.h>

// A location names the line of the user's program that issued the work. Compiled code has
// it from the source text; this program makes it up with its own line.
#define HERE ((mxrt_location){"main.c", __LINE__, 1})

static const mxrt_device cpu = {MXRT_CPU, 0};

/// Prints an error and gives it back. Returns 1 if there was one.
static int report(mxrt_status status) {
  char text[1024];
  if (!status)
    return 0;
  mxrt_status_format(status, text, sizeof text);
  printf("%s\n", text);
  mxrt_status_release(status);
  return 1;
}

/// One chunk of a loop over the elements: out = in * in.
typedef struct square_job {
  const float *in;
  float *out;
} square_job;

static mxrt_status square_chunk(void *user, int64_t begin, int64_t end,
                                int64_t chunk, const mxrt_context *context) {
  const square_job *job = user;
  (void)chunk;
  (void)context;
  for (int64_t i = begin; i < end; ++i)
    job->out[i] = job->in[i] * job->in[i];
  return NULL;
}

static mxrt_status square(const mxrt_context *context,
                          const mxrt_tensor *const *tensors,
                          const void *arguments) {
  square_job job = {mxrt_tensor_data(tensors[0]), mxrt_tensor_data(tensors[1])};
  (void)arguments;
  return mxrt_parallel_for(context, mxrt_tensor_elements(tensors[0]), 4096,
                           square_chunk, &job);
}

/// The mean of all elements; an error if one is NaN.
static mxrt_status mean(const mxrt_context *context,
                        const mxrt_tensor *const *tensors,
                        const void *arguments) {
  const float *in = mxrt_tensor_data(tensors[0]);
  double *out = mxrt_tensor_data(tensors[1]);
  int64_t count = mxrt_tensor_elements(tensors[0]);
  double sum = 0;
  (void)arguments;
  for (int64_t i = 0; i < count; ++i) {
    if (isnan(in[i]))
      return mxrt_status_make(context->allocator, MXRT_NAN_FOUND,
                              context->location, "element %lld is NaN",
                              (long long)i);
    sum += in[i];
  }
  *out = sum / (double)count;
  return NULL;
}

/// Issues run(in) -> out.
static mxrt_status issue(mxrt_runtime *runtime, const char *name,
                         mxrt_kernel run, mxrt_tensor *in, mxrt_tensor *out,
                         mxrt_location location) {
  mxrt_call call = {0};
  call.run = run;
  call.name = name;
  call.reads = &in;
  call.read_count = 1;
  call.writes = &out;
  call.write_count = 1;
  call.flags = MXRT_OP_OVERWRITES;
  call.device = cpu;
  call.location = location;
  return mxrt_call_push(runtime, &call);
}

static int run(mxrt_runtime *runtime) {
  const int64_t count = 100000;
  mxrt_tensor *x = NULL, *y = NULL, *m = NULL;
  mxrt_context context;
  mxrt_rng rng;
  mxrt_location location = HERE;
  int failed =
      report(mxrt_runtime_context(runtime, &cpu, &location, &context)) ||
      report(mxrt_tensor_create(runtime, &cpu, MXRT_F32, 1, &count, &location,
                                &x)) ||
      report(mxrt_tensor_create(runtime, &cpu, MXRT_F32, 1, &count, &location,
                                &y)) ||
      report(mxrt_tensor_create(runtime, &cpu, MXRT_F64, 0, NULL, &location, &m));

  // Normal numbers, squared, averaged: two calls, the second needs the first.
  if (!failed) {
    mxrt_rng_seed(&rng, 1);
    failed =
        report(mxrt_random_normal_f32(&context, &rng, 0, 1, count,
                                      mxrt_tensor_data(x))) ||
        report(issue(runtime, "square", square, x, y, HERE)) ||
        report(issue(runtime, "mean", mean, y, m, HERE));
    location = HERE;
    failed = failed || report(mxrt_tensor_wait(runtime, m, &location));
    if (!failed)
      printf("mean of squares: %.6f\n", *(double *)mxrt_tensor_data(m));
  }

  // An error happens when the call runs and comes out at the wait.
  if (!failed) {
    ((float *)mxrt_tensor_data(x))[12345] = NAN;
    failed = report(issue(runtime, "square", square, x, y, HERE)) ||
             report(issue(runtime, "mean", mean, y, m, HERE));
    location = HERE;
    if (!failed && !report(mxrt_tensor_wait(runtime, m, &location))) {
      printf("the error was lost\n");
      failed = 1;
    }
  }

  // Too large: refused at once, with shape and bytes.
  if (!failed) {
    int64_t huge[] = {1 << 20, 1 << 20};
    mxrt_tensor *none = NULL;
    location = HERE;
    if (!report(mxrt_tensor_create(runtime, &cpu, MXRT_F32, 2, huge, &location,
                                   &none)))
      failed = 1;
    mxrt_tensor_release(none);
  }
  mxrt_tensor_release(x);
  mxrt_tensor_release(y);
  mxrt_tensor_release(m);
  return failed;
}

int main(void) {
  mxrt_options options;
  mxrt_runtime *runtime = NULL;
  int failed;
  mxrt_options_init(&options);
  options.memory_limit = 64 << 20;
  if (report(mxrt_runtime_create(&options, &runtime)))
    return 1;
  failed = run(runtime);
  mxrt_runtime_destroy(runtime);
  return failed;
}
