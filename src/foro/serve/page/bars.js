// A bar per class. Rows glide to their new place and length, unless the reader wants no motion.
import { make, percent } from "./dom.js";

const still = matchMedia("(prefers-reduced-motion: reduce)");
const GLIDE = { duration: 250, easing: "ease-out" };

/** Shows the best classes, best first, as rows of a list. */
export function showBars(list, top) {
  const old = new Map([...list.children].map((row) => [row.label, { row, top: row.offsetTop }]));
  const rows = top.map(({ label }) => old.get(label)?.row ?? newRow(label));
  if (rows.length !== list.children.length || rows.some((row, rank) => row !== list.children[rank])) {
    list.replaceChildren(...rows);
  }
  rows.forEach((row, rank) => {
    const [, track, number] = row.children;
    const share = top[rank].confidence;
    const before = track.firstChild.style.width || "0%";
    track.firstChild.style.width = `${100 * share}%`;
    number.textContent = percent(share);
    row.classList.toggle("best", rank === 0);
    if (still.matches) return;
    track.firstChild.animate({ width: [before, `${100 * share}%`] }, GLIDE);
    const moved = old.has(row.label) ? old.get(row.label).top - row.offsetTop : 0;
    if (moved) row.animate({ transform: [`translateY(${moved}px)`, "none"] }, GLIDE);
  });
}

function newRow(label) {
  const name = make("span", { className: "name", title: label }, label);
  const track = make("span", { className: "track", ariaHidden: "true" }, make("span"));
  return Object.assign(make("li", {}, name, track, make("span", { className: "number" })), { label });
}
