// Moves the marks of a chart from where the former noise had them, as ui/parts/overview.py asks for it.
//
// Streamlit draws a chart anew whenever its numbers change, so the places of before are remembered
// here. What has just been drawn stands where it belongs: it only starts from elsewhere.

const LONG = { duration: 900, easing: "ease-in-out" };
const SAME = 0.5; // pixels

// Chart -> where its marks were last: a page that waits for its numbers takes the chart away.
const remembered = new Map();

export default function ({ data, parentElement }) {
  const root = parentElement.querySelector(".motion");
  root.chart ??= watch(root, `.st-key-chart-${data.chart}`);
}

function watch(root, chart) {
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  const look = () => {
    const now = document.querySelector(`${chart} .js-plotly-plot`);
    const drawn = now && read(now);
    if (!drawn?.marks.size) return;
    const former = remembered.get(chart);
    if (former && former.plot !== now && !calm.matches) move(former, drawn);
    remembered.set(chart, drawn);
  };
  // Before it is painted, and once everything of it is there.
  let frame = 0;
  const soon = () => {
    frame ||= requestAnimationFrame(() => {
      frame = 0;
      look();
    });
  };
  const observer = new MutationObserver((changes) => {
    if (!root.isConnected) observer.disconnect();
    else if (changes.some(({ target }) => target.closest?.(chart))) soon();
  });
  observer.observe(document.body, { childList: true, subtree: true });
  look();
  return observer;
}

function read(plot) {
  const marks = new Map();
  for (const element of plot.querySelectorAll(".scatterlayer .points path")) {
    const place = /translate\(([-\d.e]+),([-\d.e]+)\)/.exec(element.getAttribute("transform"));
    // Plotly's own name of a mark: the number of its draw.
    const id = element.__data__?.id;
    if (!place || id === undefined) continue;
    const look = { fill: element.style.fill, d: `path("${element.getAttribute("d")}")` };
    marks.set(id, { element, x: Number(place[1]), y: Number(place[2]), look });
  }
  const paths = [...plot.querySelectorAll(".scatterlayer .lines path, .scatterlayer .fills path")];
  const lines = paths.map((element) => ({ element, d: `path("${element.getAttribute("d")}")` }));
  return { plot, marks, lines };
}

function move(former, drawn) {
  for (const [id, { element, x, y }] of drawn.marks) {
    const before = former.marks.get(id);
    // Noise moves a mark up or down; another place to the side is another draw, or another size.
    if (!before || Math.abs(before.x - x) > SAME) element.animate({ opacity: [0, 1] }, LONG);
    else {
      const from = `translate(${before.x}px, ${before.y}px)`;
      element.animate({ transform: [from, `translate(${x}px, ${y}px)`] }, LONG);
      element.animate([{ ...before.look, offset: 0 }], LONG);
    }
  }
  if (former.lines.length === drawn.lines.length) {
    drawn.lines.forEach(({ element }, i) => {
      element.animate([{ d: former.lines[i].d, offset: 0 }], LONG);
    });
  }
}
