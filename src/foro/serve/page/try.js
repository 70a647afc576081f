// Try: a picture, several, or the camera live, and what the model takes them for.
import { predict } from "./api.js";
import { showBars } from "./bars.js";
import { Camera } from "./camera.js";
import { $, announce, count, make, notice, percent, sentence, touch } from "./dom.js";
import { known, onKnown } from "./knowledge.js";
import { discard, nextBatch, show, takePictures } from "./pictures.js";

const BARS = 6;
const SURE = 0.5; // below, the answer is a guess and says so
const MOST = 60; // pictures at once
const PAUSE = 120; // milliseconds between two live frames
const panel = $("#try-panel");

let items = []; // {file, answer, trouble}
let chosen = null;
let running = new AbortController();
let frame = null; // the last live frame
let said = "";
let judgedBy = "";

const state = () => `${known.samples} ${known.classes.map(({ label }) => label)}`;

/** `teach(files)` and `open(name)` lead to the other panels. */
export function startTry({ teach, open }) {
  if (touch) {
    $("#try-invitation").textContent = "Choose a picture";
    $("#try-invitation-more").textContent = "or use the camera below";
  }
  takePictures(panel, $("#try-zone"), $("#try-files"), (pictures) => judge(pictures.map(({ file }) => file)));
  const camera = new Camera(panel, (on) => (on ? live(camera) : rest()));
  $("#try-correct").addEventListener("click", () => teach([camera.on ? frame : chosen.file]));
  onKnown(() => showEmpty(open));
  return {
    leave: () => camera.stop(),
    /** What was learned in the meantime may change the answer. */
    enter: () => items.length && judgedBy !== state() && judge(items.map(({ file }) => file), items.indexOf(chosen)),
  };
}

async function judge(all, first = 0) {
  if (!all.length) return;
  const files = all.slice(0, MOST);
  if (files.length < all.length) notice(`The first ${MOST} pictures are shown.`);
  judgedBy = state();
  running.abort();
  const { signal } = (running = new AbortController());
  items = files.map((file) => ({ file, answer: null, trouble: null }));
  said = "";
  showStrip();
  choose(items[first]);
  if (!known.classes.length) return;
  const waiting = files.slice();
  for (let done = 0; waiting.length; ) {
    const batch = nextBatch(waiting);
    const some = items.slice(done, done + batch.length);
    done += batch.length;
    try {
      const { results } = await predict(batch, BARS, signal);
      results.forEach((result, place) => Object.assign(some[place], outcome(result, some[place].file)));
    } catch (error) {
      if (signal.aborted) return;
      for (const item of some) item.trouble = error.message;
    }
    showStrip();
    choose(chosen);
  }
}

/** Judges what the camera sees, one frame after another, until it stops. */
async function live(camera) {
  running.abort();
  const { signal } = (running = new AbortController());
  said = "";
  $("#try-strip").hidden = true;
  showAnswer({});
  while (camera.on && !signal.aborted) {
    if (!document.hidden && known.classes.length) {
      frame = await camera.frame();
      try {
        const { results } = await predict([frame], BARS, signal);
        if (!signal.aborted) showAnswer(outcome(results[0], frame));
      } catch (error) {
        if (signal.aborted) return;
        camera.stop();
        showAnswer({ trouble: error.message });
      }
    }
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
  }
}

function outcome(result, file) {
  return result.error ? { trouble: `${file.name}: ${sentence(result.error.detail)}` } : { answer: result };
}

/** The camera has stopped: back to the pictures that were there before, if any. */
function rest() {
  running.abort();
  said = "";
  showStrip();
  showAnswer(chosen ?? {});
}

function choose(item) {
  chosen = item;
  const picture = $(".picture", panel);
  if (picture.file !== item.file) {
    picture.file = item.file;
    showPicture(true);
    show(picture, item.file, () => showPicture(false));
  }
  picture.alt = item.file.name;
  for (const button of $("#try-strip").querySelectorAll("button")) {
    button.setAttribute("aria-pressed", String(button.item === item));
  }
  showAnswer(item);
}

function showPicture(shown) {
  $(".picture", panel).hidden = !shown;
  $("#try-zone").classList.toggle("full", shown);
}

function showAnswer({ answer, trouble }) {
  $("#try-answer").hidden = !answer;
  $("#try-trouble").hidden = !trouble;
  $("#try-trouble").textContent = trouble ?? "";
  $("#try-waiting").hidden = Boolean(answer || trouble || !known.classes.length);
  $("#try-waiting").textContent = chosen || !$(".camera", panel).hidden ? "Looking …" : "The answer appears here.";
  if (trouble) announce(trouble);
  if (!answer) return;
  const sure = answer.confidence >= SURE;
  $(".verdict .doubt", panel).textContent = sure ? "" : "Not sure. Perhaps";
  $(".verdict .name", panel).textContent = answer.label;
  $(".verdict .confidence", panel).textContent = `${percent(answer.confidence)} sure`;
  showBars($(".bars", panel), answer.top, !$(".camera", panel).hidden);
  const hidden = known.classes.length - answer.top.length;
  $("#try-more").textContent = hidden > 0 ? `and ${count(hidden, "class", "classes")} less likely` : "";
  if (known.classes.length === 1) $("#try-more").textContent = "It knows nothing else yet: teach it a second class to compare with.";
  // A live answer is said when it changes, not with every frame.
  const words = `${sure ? "" : "perhaps "}${answer.label}`;
  if (words !== said) announce(`${words}, ${percent(answer.confidence)}`);
  said = words;
}

function showStrip() {
  const strip = $("#try-strip");
  strip.hidden = items.length < 2;
  if (strip.hidden || $("button", strip)?.item !== items[0]) {
    [...strip.children].forEach(discard);
    if (!strip.hidden) strip.append(...items.map(stripItem));
  }
  for (const button of strip.querySelectorAll("button")) {
    const { answer, trouble } = button.item;
    button.lastChild.textContent = answer?.label ?? (trouble ? "not read" : "…");
  }
}

function stripItem(item) {
  const image = make("img", { alt: "" });
  show(image, item.file, () => image.removeAttribute("src"));
  const button = make("button", { title: item.file.name, item }, image, make("span"));
  button.addEventListener("click", () => choose(item));
  return make("li", {}, button);
}

function showEmpty(open) {
  const empty = known.loaded && !known.classes.length;
  const box = $("#try-empty");
  box.hidden = !empty;
  if (empty && !box.firstChild) {
    const button = make("button", { className: "primary" }, "Teach it something");
    button.addEventListener("click", () => open("teach"));
    box.append(make("h2", {}, "It knows nothing yet"), make("p", {}, "Show it a few pictures of two things, and it tells them apart."), button);
  }
  if (empty) showAnswer({});
  $("#try-waiting").hidden ||= empty;
}
