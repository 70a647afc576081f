// A bar per class, each a button that teaches. Bars glide to their new length, unless the reader wants no motion; rows
// never pass over each other.
import { make, percent } from "./dom.js";
import { t } from "./language.js";

const still = matchMedia("(prefers-reduced-motion: reduce)");
const GLIDE = { duration: 250, easing: "ease-out" };

/** Shows the best classes as rows of a list: best first, or `steady`, each where it was before. */
export function showBars(list, top, steady = false) {
  const old = new Map([...list.children].map((row) => [row.label, row]));
  const rows = (steady ? inPlace([...old.keys()], top) : top).map(({ label }) => old.get(label) ?? newRow(label));
  if (rows.length !== list.children.length || rows.some((row, place) => row !== list.children[place])) {
    const focused = document.activeElement;
    list.replaceChildren(...rows);
    if (list.contains(focused)) focused.focus({ preventScroll: true }); // which it loses by being moved
  }
  const shares = new Map(top.map(({ label, confidence }) => [label, confidence]));
  for (const row of rows) {
    fill(row.firstChild, shares.get(row.label));
    row.classList.toggle("best", row.label === top[0].label);
  }
}

/** Gives a bar its length and its number; null is not known. */
export function fill(bar, share) {
  const [, track, number] = bar.children;
  const before = track.firstChild.style.width || "0%";
  track.firstChild.style.width = `${100 * (share ?? 0)}%`;
  number.textContent = share === null ? "–" : percent(share);
  if (!still.matches) track.firstChild.animate({ width: [before, track.firstChild.style.width] }, GLIDE);
}

/** The entries of `top`, those that were shown in their old places; newcomers take the places of those that left. */
function inPlace(shown, top) {
  const known = new Map(top.map((each) => [each.label, each]));
  const newcomers = top.filter(({ label }) => !shown.includes(label));
  const places = shown.map((label) => known.get(label) ?? newcomers.shift()).filter(Boolean);
  return [...places, ...newcomers];
}

function newRow(label) {
  const name = make("span", { className: "name" }, label);
  const track = make("span", { className: "track", ariaHidden: "true" }, make("span"));
  const title = t("Teach this as {label}", { label });
  const bar = make("button", { type: "button", className: "bar", title }, name, track, make("span", { className: "number" }));
  return Object.assign(make("li", {}, bar), { label });
}
