# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pages of `mxc report` in a headless browser, for runs of 1, 3 and 3,000 points and 40 curves, and of `mxc plan --html`, for graphs of
5 and of some 2,000 buffers.

usage: report_page.py MXC BROWSER [FOLDER FOR SCREENSHOTS]

Each page is shown in a frame of a wide and of a narrow window, and a script beside it measures: nothing is wider than the
window, every picture has a size and a line that is drawn within it, labels do not lie on each other, and the browser reports no error. The
picture of a plan has many colours, another look once the wheel zoomed in or it was dragged, and the first one after a double click."""
import json
import os
import re
import subprocess
import sys
import tempfile

PROGRAM = """
graph fn outputs(w: f32[4, 3], x: f32[N, 4]) -> f32[N, 3] {{ tanh(tanh(x @ w) @ (w.T @ w)) }}
let x = normal([32, 4])
let w = normal([4, 3])
for i in 0..{points} {{
  let y = outputs(w, x)
  for k in 0..{curves} {{ log(f"curve {{k}} of a run <&>", y.sum() / (1.0 + f32(i)) * 10.0 ** f32(k - {curves} // 2)) }}
}}
save("{folder}/net.ckpt", w=w, x=x)
"""

FRAME = """<!doctype html><meta charset="utf-8"><body style="margin:0">
<iframe id="page" src="%s" style="border:0;width:%dpx;height:4000px"></iframe><pre id="out"></pre>
<script>
const problems = [], seen = {};
window.onerror = (text) => problems.push('error: ' + text);
document.getElementById('page').onload = () => {
  const inside = document.getElementById('page').contentDocument;
  const root = inside.documentElement;
  if (root.scrollWidth > root.clientWidth + 1) problems.push(`the page is ${root.scrollWidth} wide in ${root.clientWidth}`);
  seen.pictures = 0; seen.labels = 0; seen.sections = inside.querySelectorAll('section').length;
  for (const svg of inside.querySelectorAll('svg')) {
    ++seen.pictures;
    const box = svg.getBoundingClientRect();
    const name = (svg.querySelector('title') || {}).textContent || 'picture';
    if (box.width < 100 || box.height < 50) problems.push(`${name} is ${box.width} x ${box.height}`);
    if (!svg.querySelector('path, polyline, rect, line, circle')) problems.push(`${name} is empty`);
    for (const shape of svg.querySelectorAll('path, polyline, rect, line, circle')) {
      const at = shape.getBoundingClientRect();
      if (![at.left, at.right, at.top, at.bottom].every(Number.isFinite) || at.left < box.left - 2 || at.right > box.right + 2 ||
          at.top < box.top - 2 || at.bottom > box.bottom + 2) { problems.push(`${name}: a line leaves the picture`); break; }
    }
    const labels = [...svg.querySelectorAll('text')].map(text => text.getBoundingClientRect());
    seen.labels += labels.length;
    for (let i = 0; i < labels.length; ++i) {
      const a = labels[i];
      if (a.left < box.left - 2 || a.right > box.right + 2) problems.push(`${name}: a label leaves the picture`);
      for (let j = 0; j < i; ++j) {
        const b = labels[j];
        if (a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3)
          problems.push(`${name}: two labels lie on each other`);
      }
    }
  }
  const view = document.getElementById('page').contentWindow;
  for (const canvas of inside.querySelectorAll('canvas')) {
    ++seen.pictures;
    const box = canvas.getBoundingClientRect();
    if (box.width < 100 || box.height < 50) problems.push(`the canvas is ${box.width} x ${box.height}`);
    const looks = () => canvas.toDataURL(), first = looks();
    const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
    const colours = new Set(new Uint32Array(pixels.buffer)).size;
    if (colours < 10) problems.push(`the canvas has ${colours} colours`);
    const at = {clientX: box.left + box.width * 0.6, clientY: box.top + box.height * 0.6, cancelable: true};
    canvas.dispatchEvent(new view.WheelEvent('wheel', {deltaY: -100, ...at}));
    const zoomed = looks();
    if (zoomed === first) problems.push('the wheel does not zoom');
    canvas.dispatchEvent(new view.PointerEvent('pointerdown', at));
    canvas.dispatchEvent(new view.PointerEvent('pointermove', {...at, clientX: at.clientX - 20}));
    canvas.dispatchEvent(new view.PointerEvent('pointerup', at));
    if (looks() === zoomed) problems.push('dragging does not move');
    canvas.dispatchEvent(new view.MouseEvent('dblclick', at));
    if (looks() !== first) problems.push('a double click does not show all');
  }
  document.getElementById('out').textContent = 'RESULT' + JSON.stringify({problems, seen}) + 'END';
};
</script>"""


def browse(browser, folder, *options):
    return subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files",
                           "--enable-logging=stderr", "--virtual-time-budget=10000", f"--user-data-dir={folder}/profile",
                           *options], capture_output=True, text=True, timeout=240)


def look(browser, folder, page, width):
    frame = f"{folder}/frame.html"
    with open(frame, "w", encoding="utf-8") as file:
        file.write(FRAME % (f"file://{page}", width))
    done = browse(browser, folder, f"--window-size={width + 40},1000", "--dump-dom", f"file://{frame}")
    found = re.search(r"RESULT(.*?)END</pre>", done.stdout, flags=re.S)
    if not found:
        sys.exit(f"the browser did not show {page}:\n{done.stdout[-500:]}\n{done.stderr[-2000:]}")
    result = json.loads(found[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
    for line in done.stderr.splitlines():
        if "CONSOLE" in line:
            result["problems"].append(line)
    return result


mxc, browser = os.path.abspath(sys.argv[1]), sys.argv[2]
shots = os.path.abspath(sys.argv[3]) if len(sys.argv) > 3 else None
failed = False
with tempfile.TemporaryDirectory() as folder:
    for points, curves in ((1, 1), (3, 2), (3000, 4), (30, 40)):
        run = f"{folder}/run{points}"
        os.makedirs(run)
        program = f"{folder}/program.mx"
        with open(program, "w", encoding="utf-8") as file:
            file.write(PROGRAM.format(points=points, curves=curves, folder=run))
        environment = dict(os.environ, MX_CACHE_DIR=f"{folder}/cache")
        subprocess.run([mxc, "run", f"--logdir={run}", f"--profile={run}/trace.json", program], check=True,
                       stderr=subprocess.DEVNULL, env=environment)
        with open(f"{run}/outputs.plan.json", "w", encoding="utf-8") as file:
            subprocess.run([mxc, "plan", "--json", program, "outputs", "--shapes", "N=32"], check=True, stdout=file,
                           env=environment)
        subprocess.run([mxc, "report", run], check=True, stdout=subprocess.DEVNULL)
        for width in (1200, 400):
            result = look(browser, folder, f"{run}/report.html", width)
            seen, problems = result["seen"], result["problems"]
            if seen["pictures"] < curves + 1:
                problems.append(f"{seen['pictures']} pictures, {curves} curves and a plan were expected")
            print(f"{points} points of {curves} curves, {width} pixels wide: {seen['pictures']} pictures, {seen['labels']} labels, "
                  f"{os.path.getsize(f'{run}/report.html')} bytes, {len(problems)} problems", flush=True)
            for problem in problems[:10]:
                print("  " + problem)
            failed |= bool(problems)
        if shots:
            browse(browser, folder, "--window-size=1200,1600", f"--screenshot={shots}/report{points}.png",
                   f"file://{run}/report.html")
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    for name, source, sizes in (("mlp", "test/run/Inputs/plan-mlp.mx", "B=64,D=256"),
                                ("inception_train", "tools/dev/memory-nets.mx", "B=32")):
        page = f"{folder}/plan.html"
        subprocess.run([mxc, "plan", os.path.join(root, source), name, "--shapes", sizes, "--html", page], check=True,
                       stdout=subprocess.DEVNULL)
        for width in (1200, 400):
            result = look(browser, folder, page, width)
            problems = result["problems"] + ([] if result["seen"]["pictures"] == 1 else ["there is no picture"])
            print(f"plan of {name}, {width} pixels wide: {os.path.getsize(page)} bytes, {len(problems)} problems", flush=True)
            for problem in problems[:10]:
                print("  " + problem)
            failed |= bool(problems)
        if shots:
            browse(browser, folder, "--window-size=1200,1600", f"--screenshot={shots}/plan-{name}.png", f"file://{page}")
sys.exit(failed)
