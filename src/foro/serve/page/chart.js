// Accuracy over time, one point for each lesson, drawn at the size at which it is seen.
import { clock, percent } from "./dom.js";
import { count, language, t } from "./language.js";

const HEIGHT = 200;
const DOTS = 40; // more lessons are a line without dots
const ROOM = 260; // pixels that two moments need side by side
const MARGIN = { left: 52, right: 72, top: 16, bottom: 28 };

/** Draws the history into a box, again whenever the box changes its width. */
export function drawChart(box, history) {
  const points = history.filter((point) => point.accuracy !== null);
  box.observer?.disconnect();
  box.observer = new ResizeObserver(() => box.replaceChildren(picture(points, box.clientWidth)));
  if (points.length > 1) box.observer.observe(box);
  else box.replaceChildren(t("The chart begins with the second lesson that can be judged: two classes, a few pictures each."));
  box.classList.toggle("hint", points.length < 2);
}

function picture(points, width) {
  const low = Math.max(0, Math.min(0.8, Math.floor(5 * Math.min(...points.map((point) => point.accuracy)) - 0.25) / 5));
  const [right, bottom] = [width - MARGIN.right, HEIGHT - MARGIN.bottom];
  const x = (place) => MARGIN.left + ((right - MARGIN.left) * place) / (points.length - 1);
  const y = (accuracy) => bottom - ((bottom - MARGIN.top) * (accuracy - low)) / (1 - low);
  const last = points.at(-1);
  const line = points.map((point, place) => `${x(place).toFixed(1)},${y(point.accuracy).toFixed(1)}`).join(" ");
  const svg = shape("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, role: "img" });
  svg.setAttribute(
    "aria-label",
    t("Accuracy went from {first} to {last} in {lessons}.", {
      first: percent(points[0].accuracy),
      last: percent(last.accuracy),
      lessons: count(points.length, "lesson"),
    }),
  );
  for (const level of [low, (low + 1) / 2, 1]) {
    svg.append(shape("line", { class: "rule", x1: MARGIN.left, x2: right, y1: y(level), y2: y(level) }));
    svg.append(words(percent(level), MARGIN.left - 8, y(level) + 4, "end"));
  }
  const [from, to] = ends(points[0].time, last.time, right - MARGIN.left < ROOM);
  svg.append(words(from, MARGIN.left, HEIGHT - 8, "start"));
  svg.append(words(to, right, HEIGHT - 8, "end"));
  svg.append(shape("polygon", { class: "area", points: `${x(0)},${bottom} ${line} ${right},${bottom}` }));
  svg.append(shape("polyline", { class: "line", points: line }));
  points.forEach((point, place) => {
    if (points.length <= DOTS) svg.append(shape("circle", { class: "dot", cx: x(place), cy: y(point.accuracy), r: 3.5 }));
    const spot = shape("circle", { class: "spot", cx: x(place), cy: y(point.accuracy), r: 12 });
    const tip = shape("title");
    const after = { accuracy: percent(point.accuracy), pictures: count(point.samples, "picture"), time: clock(point.time) };
    tip.textContent = t("{accuracy} after {pictures}, {time}", after);
    spot.append(tip);
    svg.append(spot);
  });
  svg.append(shape("circle", { class: "last", cx: right, cy: y(last.accuracy), r: 5 }));
  svg.append(words(percent(last.accuracy), right + 10, y(last.accuracy) + 5, "start", "now"));
  return svg;
}

/** Two moments in words; where there is little room, by what tells them apart: the time of one day, or the days. */
function ends(first, last, narrow) {
  if (!narrow) return [clock(first, false), clock(last, false)];
  const [from, to] = [new Date(first), new Date(last)];
  const style = from.toDateString() === to.toDateString() ? { hour: "2-digit", minute: "2-digit" } : { day: "numeric", month: "short" };
  return [from.toLocaleString(language, style), to.toLocaleString(language, style)];
}

function words(text, x, y, anchor, style = "") {
  const element = shape("text", { x, y, "text-anchor": anchor, class: style });
  element.textContent = text;
  return element;
}

function shape(tag, attributes = {}) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}
