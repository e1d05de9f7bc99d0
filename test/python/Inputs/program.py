# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The program that the tests of the Python package call."""

import mx

TEXT = """
model Linear[D, C] {
  param w: f32[D, C] = zeros()
  param b: f32[C]    = zeros()
  fn call(x: f32[B, D]) -> f32[B, C] { x @ w + b }
}
model Pair {
  sub first: Linear[2, 2]
  sub rest: [Linear[2, 1]; 2]
  fn call(x: f32[B, 2]) -> f32[B, 1] { rest[0](first(x)) + rest[1](x) }
}
type Net = Linear[2, 1]
fn start() -> Net { Net() }
fn pair() -> Pair { Pair() }
graph fn step(mut net: Net, x: f32[N, 2], y: f32[N, 1], lr: f32 = 0.1) -> f32 {
  let (loss, g) = grad(net) { ((net(x) - y) ** 2).mean() }
  net -= lr * g
  loss
}
graph fn half(x: f32[dyn N <= 1000000]) -> f32[N] { x / 2.0 }
graph fn same(x: f32[dyn N <= 1000]) -> f32[N] { x }
graph fn bump(mut x: f32[dyn N <= 1000], by: f32 = 1.0) { x += by }
graph fn rise(mut x: f32[dyn N <= 1000]) { x = x + 1.0; assert x[0] < 3.0, "too high" }
fn keep[T: any](x: T[...S]) -> T[...S] { x }
fn halves(x: f32[N]) -> bf16[N] { bf16(x) }
fn pick(x: f32[N], i: i64) -> f32 { x[i] }
fn talk(n: i64, loud: bool = false) -> (i64, str, f32[2]) {
  print("hello", n, loud)
  (n + 1, "text", [1.0, 2.0])
}
fn table() -> [f32[2]; 3] { [ones([2]), zeros([2]), ones([2])] }
fn nothing() { }
fn spin() -> f64 { var s = f64(0.0); while true { s += 1.0 }; s }
fn count(mut x: f32[4]) { while true { x += 1.0 } }
let top = [1.0, 2.0]
let width = 3
"""


def program(session=None):
    return (session or mx.session()).compile(TEXT, "program.mx")
