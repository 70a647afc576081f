// Review: the doubtful pictures of this sitting, and as the service says, confusable classes and what would help most.
// The service stores no pictures. Small copies of the doubtful ones are kept in this browser, until they are put away.
import { verdict } from "./answer.js";
import { review, thumbnails } from "./api.js";
import { $, make, notice, percent } from "./dom.js";
import { known, onKnown } from "./knowledge.js";
import { count, t } from "./language.js";
import { discard, show } from "./pictures.js";

const DOUBT = 0.7; // answers that are less sure than this are kept
const KEPT = 100; // pictures
const SIDE = 320; // pixels of a small copy
const WORTH = 0.005; // of all pictures of a class: a gain that is worth a tip
const TIPS = 3;
const PAIRS = 5;
const SEEN = 4; // pictures of each class of a pair

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
    await change((table) => table.put({ name: file.name, size: file.size, time: Date.now(), verdict: name, share, picture }));
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
  $("#review-here").hidden = known.thumbnails;
  $("#review-both").hidden = !known.thumbnails;
  let found;
  try {
    found = await review();
  } catch (error) {
    return notice(error.message);
  }
  const tips = found.needs.filter((each) => each.mistakes - each.mistakes_after >= WORTH).slice(0, TIPS);
  $("#tips").replaceChildren(...tips.map((each) => tip(each, found.more)));
  $("#tips-none").hidden = tips.length > 0 || !found.needs.length;
  $("#tips-early").hidden = found.needs.length > 0;
  $("#pairs").replaceChildren(...found.confusable.slice(0, PAIRS).map(confusion));
  $("#pairs-none").hidden = found.confusable.length > 0;
}

function doubtful({ name, verdict: words, share, picture }) {
  const image = make("img", { alt: "" });
  show(image, picture, () => image.remove());
  const button = make("button", { title: name }, image, make("b", {}, words), make("span", {}, percent(share)));
  button.addEventListener("click", () => look(new File([picture], name, { type: picture.type })));
  return make("li", {}, button);
}

function tip({ label, learned, mistakes, mistakes_after: after }, number) {
  const button = make("button", { ariaLabel: t("Teach more of {label}", { label }) }, t("Teach"));
  button.addEventListener("click", () => teach(label));
  const why = t("{pictures} so far: {share} recognised, {more} with these", {
    pictures: count(learned, "picture"),
    share: percent(1 - mistakes),
    more: percent(1 - after),
  });
  return make("li", {}, make("span", {}, make("b", {}, t("{number} more of {label}", { number, label })), ` (${why})`), button);
}

function confusion({ first, second, images, confused }) {
  const share = t("{share} taken for the other", { share: percent(confused / images) });
  const item = make("li", {}, make("span", {}, make("b", {}, first), ` ${t("or")} `, make("b", {}, second)), make("span", {}, share));
  if (known.thumbnails) for (const label of [first, second]) showSome(item, label);
  return item;
}

/** A few pictures of a class, if the service keeps them and the token may see them. */
async function showSome(item, label) {
  const strip = make("span", { className: "thumbnails" });
  item.append(strip);
  const kept = await thumbnails(label).catch(() => ({ thumbnails: [] }));
  strip.append(...kept.thumbnails.slice(0, SEEN).map((src) => make("img", { src, alt: label })));
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
