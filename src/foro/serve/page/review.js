// Review: the doubtful pictures of this sitting, classes that are easily confused, and what would help most.
// The service stores no pictures. Small copies of the doubtful ones are kept in this browser, until they are put away.
import { verdict } from "./answer.js";
import { $, make, percent } from "./dom.js";
import { known, onKnown } from "./knowledge.js";
import { count, t } from "./language.js";
import { discard, show } from "./pictures.js";

const DOUBT = 0.7; // answers that are less sure than this are kept
const KEPT = 100; // pictures
const SIDE = 320; // pixels of a small copy
const ENOUGH = 10; // pictures of a class, from which on only its accuracy says whether more are needed
const MORE = 5; // pictures that are asked for at a time
const TIPS = 3;
const PAIRS = 5;

let store = null; // a promise of the database, or of null where there is none, as in private windows
let teach;
let look;
let open = false;

/** `teach(label)` leads to a lesson, `look(file)` to the answer. */
export function startReview(actions) {
  ({ teach, look } = actions);
  $("#review-clear").addEventListener("click", async () => {
    await change((table) => table.clear());
    render();
  });
  onKnown(() => open && render());
  return {
    enter() {
      open = true;
      render();
    },
    leave: () => (open = false),
  };
}

/** Keeps a small copy of a picture that was judged, if the answer was doubtful. */
export async function remember({ file, answer }) {
  if (!answer) return;
  const { name, share, none } = verdict(answer);
  if (share >= DOUBT && !none) return;
  try {
    const picture = await small(file);
    const pair = answer.top.slice(0, 2).map(({ label }) => label).sort();
    await change((table) => table.put({ name: file.name, size: file.size, time: Date.now(), verdict: name, share, none, pair, picture }));
    const all = await entries();
    const old = all.slice(KEPT);
    if (old.length) await change((table) => old.forEach((each) => table.delete([each.name, each.size])));
  } catch {
    // a format that the browser does not know, or no room: the answer itself was given
  }
}

async function render() {
  const all = await entries();
  if (!open) return;
  const list = $("#doubtful");
  [...list.children].forEach(discard);
  list.append(...all.map(doubtful));
  $("#review-empty").hidden = all.length > 0;
  $("#review-clear").hidden = !all.length;
  const tips = whatHelps(known.classes);
  $("#tips").replaceChildren(...tips.map(tip));
  $("#tips-none").hidden = tips.length > 0 || !known.classes.length;
  const pairs = confused(all);
  $("#pairs").replaceChildren(...pairs.map(confusion));
  $("#pairs-none").hidden = pairs.length > 0;
}

function doubtful({ name, verdict: words, share, picture }) {
  const image = make("img", { alt: "" });
  show(image, picture, () => image.remove());
  const button = make("button", { title: name }, image, make("b", {}, words), make("span", {}, percent(share)));
  button.addEventListener("click", () => look(new File([picture], name, { type: picture.type })));
  return make("li", {}, button);
}

/** The classes that need pictures most: those with few of them, then those that are recognised worst. */
export function whatHelps(classes) {
  const need = ({ count: pictures, accuracy }) => (pictures < ENOUGH ? 1 - pictures / ENOUGH : 0) + (1 - (accuracy ?? 0));
  const needy = classes.filter(({ count: pictures, accuracy }) => pictures < ENOUGH || (accuracy ?? 1) < 0.9);
  return needy.sort((one, other) => need(other) - need(one)).slice(0, TIPS);
}

function tip({ label, count: pictures, accuracy }) {
  const button = make("button", { ariaLabel: t("Teach more of {label}", { label }) }, t("Teach"));
  button.addEventListener("click", () => teach(label));
  const why = accuracy === null ? count(pictures, "picture") : t("{pictures}, {share} recognised", { pictures: count(pictures, "picture"), share: percent(accuracy) });
  return make("li", {}, make("span", {}, make("b", {}, t("{number} more of {label}", { number: MORE, label })), ` (${why})`), button);
}

/** Pairs of classes between which it could not decide, those with most pictures first. */
function confused(all) {
  const pairs = new Map();
  for (const { pair, none } of all) {
    if (none || pair.length < 2) continue;
    const name = JSON.stringify(pair);
    pairs.set(name, { pair, times: (pairs.get(name)?.times ?? 0) + 1 });
  }
  return [...pairs.values()].sort((one, other) => other.times - one.times).slice(0, PAIRS);
}

function confusion({ pair: [one, other], times }) {
  return make("li", {}, make("span", {}, make("b", {}, one), ` ${t("or")} `, make("b", {}, other)), make("span", {}, count(times, "picture")));
}

async function small(file) {
  const bitmap = await createImageBitmap(file);
  const scale = Math.min(1, SIDE / Math.max(bitmap.width, bitmap.height));
  const canvas = make("canvas", { width: Math.max(1, bitmap.width * scale), height: Math.max(1, bitmap.height * scale) });
  canvas.getContext("2d").drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  bitmap.close();
  return new Promise((resolve) => canvas.toBlob(resolve, "image/jpeg", 0.85));
}

function database() {
  store ??= new Promise((resolve) => {
    const request = indexedDB.open("foro", 1);
    request.onupgradeneeded = () => request.result.createObjectStore("doubtful", { keyPath: ["name", "size"] });
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => resolve(null);
  });
  return store;
}

async function change(make) {
  const table = (await database())?.transaction("doubtful", "readwrite").objectStore("doubtful");
  if (!table) return;
  make(table);
  await new Promise((resolve, reject) => Object.assign(table.transaction, { oncomplete: resolve, onerror: reject, onabort: reject }));
}

/** What is kept, the newest first. */
async function entries() {
  const table = (await database())?.transaction("doubtful").objectStore("doubtful");
  if (!table) return [];
  const request = table.getAll();
  const all = await new Promise((resolve) => Object.assign(request, { onsuccess: () => resolve(request.result), onerror: () => resolve([]) }));
  return all.sort((one, other) => other.time - one.time);
}
