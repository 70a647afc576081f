// Try: a picture, several, or the camera live, and what the model takes them for.
import { forgetSaid, showAnswer, startAnswer } from "./answer.js";
import { predict, TOO_MUCH } from "./api.js";
import { Camera } from "./camera.js";
import { $, make, notice, sentence, touch } from "./dom.js";
import { known, onKnown, refresh } from "./knowledge.js";
import { count, t } from "./language.js";
import { nextBatch, show, takePictures } from "./pictures.js";
import { listResults, showResults, startResults } from "./results.js";
import { Steady } from "./steady.js";
import { burst, takeBack, teach } from "./teach.js";

const BARS = 4; // so that all of the answer is in sight
const LIVE = { side: 320, pace: 50, together: 2 }; // pixels, milliseconds between two frames, and frames on their way

const panel = $("#try-panel");
let camera;
let items = []; // {file, answer, trouble}
let chosen = null;
let running = new AbortController();
let judgedBy = null; // version of the model

/** `open(name)` leads to the other panels, `judged(item)` is told of every picture that was judged. */
export function startTry({ open, judged }) {
  if (touch) {
    $("#try-invitation").textContent = t("Choose a picture");
    $("#try-invitation-more").textContent = t("or use the camera below");
  }
  const take = (pictures) => judge(pictures.map(({ file }) => file), 0, judged);
  takePictures(panel, $("#try-zone"), $("#try-files"), take);
  camera = new Camera(panel, (on) => (on ? live() : rest()));
  startAnswer({ live: () => camera.on, teach: teachThis });
  startResults({ choose, cancel: () => running.abort() });
  onKnown(() => showEmpty(open));
  return {
    leave: () => camera.stop(),
    /** What was learned in the meantime may change the answer. */
    enter: again,
    /** A picture from elsewhere. */
    take: (file) => take([{ file }]),
  };
}

const again = () => items.length && judgedBy !== known.model_version && judge(items.map(({ file }) => file), items.indexOf(chosen));

/** Teaches the picture that is shown, or what the camera sees as long as `held()`. */
async function teachThis(label, held) {
  const lesson = held
    ? await burst(label, camera, held, (taken) => ($("#try-ask").textContent = t("{pictures} of {label} …", { pictures: count(taken, "picture"), label })))
    : teach(label, [camera.on ? await camera.frame() : chosen.file], true);
  await lesson.finished;
  if (!lesson.learned) return notice(lesson.trouble || t("Nothing new was learned: it knows this picture of {label}.", { label }));
  const words = t("Learned {pictures} of {label}.", { pictures: count(lesson.learned, "picture"), label });
  notice(words, t("Undo"), async () => {
    await takeBack(lesson);
    if (!camera.on) again();
  });
  await refresh();
  if (!camera.on) again();
}

async function judge(files, first = 0, judged = () => {}) {
  if (!files.length) return;
  judgedBy = known.model_version;
  running.abort();
  const { signal } = (running = new AbortController());
  items = files.map((file) => ({ file, answer: null, trouble: null }));
  forgetSaid();
  listResults(items);
  choose(items[first]);
  if (!known.classes.length) return;
  const waiting = items.slice();
  for (let most = Infinity; waiting.length && !signal.aborted; ) {
    const some = nextBatch(waiting, ({ file }) => file, most);
    most = Infinity;
    try {
      const { results } = await predict(some.map(({ file }) => file), BARS, signal);
      results.forEach((result, place) => Object.assign(some[place], outcome(result, some[place].file)));
      some.forEach(judged);
    } catch (error) {
      if (signal.aborted) break;
      if (TOO_MUCH.includes(error.kind) && some.length > 1) {
        waiting.unshift(...some);
        most = some.length >> 1;
        continue;
      }
      for (const item of some) item.trouble = error.message;
    }
    showResults(chosen, waiting.length > 0 && !signal.aborted);
    if (some.includes(chosen)) choose(chosen);
  }
  if (running.signal === signal) showResults(chosen, false);
}

/** Judges what the camera sees, some frames at a time, until it stops. */
async function live() {
  running.abort();
  const { signal } = (running = new AbortController());
  const steady = new Steady();
  const sent = new Set();
  let newest = 0;
  forgetSaid();
  $("#try-results").hidden = true;
  $("#try-bars").replaceChildren();
  shown({});
  for (let number = 1; camera.on && !signal.aborted; number++) {
    const pause = new Promise((resolve) => setTimeout(resolve, LIVE.pace));
    if (!document.hidden && known.classes.length) {
      const frame = await camera.frame(LIVE.side);
      const asked = predict([frame], BARS, signal)
        .then(({ results }) => {
          if (signal.aborted || number < newest) return;
          newest = number;
          const { answer, trouble } = outcome(results[0], frame);
          shown(answer ? { answer: steady.add(answer) } : { trouble });
        })
        .catch((error) => {
          if (signal.aborted) return;
          camera.stop();
          shown({ trouble: error.message });
        })
        .finally(() => sent.delete(asked));
      sent.add(asked);
      if (sent.size >= LIVE.together) await Promise.race(sent);
    }
    await pause;
  }
}

const outcome = (result, file) =>
  result.error ? { trouble: `${file.name}: ${sentence(result.error.detail)}` } : { answer: result };

const shown = (item) => showAnswer(item, { awaited: chosen !== null || camera.on, steady: camera.on });

/** The camera has stopped: back to the pictures that were there before, if any. */
function rest() {
  running.abort();
  forgetSaid();
  $("#try-results").hidden = items.length < 2;
  shown(chosen ?? {});
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
  showResults(chosen, !running.signal.aborted && items.some(({ answer, trouble }) => !answer && !trouble));
  shown(item);
}

function showPicture(shown) {
  $(".picture", panel).hidden = !shown;
  $("#try-zone").classList.toggle("full", shown);
}

function showEmpty(open) {
  const empty = known.loaded && !known.classes.length;
  const box = $("#try-empty");
  box.hidden = !empty;
  if (empty && !box.firstChild) {
    const button = make("button", { className: "primary" }, t("Teach it something"));
    button.addEventListener("click", () => open("teach"));
    box.append(make("h2", {}, t("It knows nothing yet")), make("p", {}, t("Show it a few pictures of two things, and it tells them apart.")), button);
  }
  if (empty) shown({});
  $("#try-waiting").hidden ||= empty;
}
