/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The same from C: loads a program, makes a network, trains it for a few steps
 * and asks it once.
 *
 *   example-embed-c spiral.mx
 */
#include <mxc/mxc.h>

#include <stdio.h>
#include <stdlib.h>

static void check(mxc_error *error) {
  if (!error)
    return;
  fprintf(stderr, "%s", mxc_error_text(error));
  mxc_error_release(error);
  exit(1);
}

int main(int argc, char **argv) {
  mxc_session *session;
  mxc_module *program;
  mxc_function *start, *step, *predict;
  check(mxc_session_create(NULL, &session));
  check(mxc_load_file(session, argc > 1 ? argv[1] : "spiral.mx", &program));
  check(mxc_module_function(program, "start", &start));
  check(mxc_module_function(program, "step", &step));
  check(mxc_module_function(program, "predict", &predict));

  /* Four points, one on each side. */
  float points[8] = {1, 0, 0, 1, -1, 0, 0, -1};
  int32_t arms[4] = {0, 1, 2, 0};
  int64_t two[2] = {4, 2}, one[1] = {4};
  mxc_value *x, *y, *made, *loss, *answer;
  check(mxc_tensor_borrow(MXC_F32, 2, two, NULL, points, 0, NULL, NULL, &x));
  check(mxc_tensor_borrow(MXC_I32, 1, one, NULL, arms, 0, NULL, NULL, &y));

  check(mxc_call(start, NULL, 0, 0, &made));
  mxc_argument training[4] = {{NULL, NULL, MXC_MUT}, {NULL, NULL, MXC_MUT}, {x, NULL, 0}, {y, NULL, 0}};
  check(mxc_value_item(made, 0, &training[0].value));
  check(mxc_value_item(made, 1, &training[1].value));
  mxc_value_release(made);
  double number = 0;
  for (int i = 0; i < 100; ++i) {
    check(mxc_call(step, training, 4, 0, &loss));
    check(mxc_value_as_float(loss, &number));
    mxc_value_release(loss);
  }
  printf("loss %s 0.01\n", number < 0.01 ? "below" : "above");

  mxc_argument asked[2] = {{training[0].value, NULL, 0}, {x, NULL, 0}};
  check(mxc_call(predict, asked, 2, 0, &answer));
  const void *data;
  check(mxc_tensor_data(answer, &data));
  for (int i = 0; i < 4; ++i)
    printf("%s%d", i ? " " : "", ((const int32_t *)data)[i]);
  printf("  %s\n", mxc_value_type(answer));

  mxc_value_release(answer);
  mxc_value_release(training[0].value);
  mxc_value_release(training[1].value);
  mxc_value_release(x);
  mxc_value_release(y);
  mxc_session_destroy(session);
  return 0;
}
