// Teach: a label, pictures of it or the camera held on it, and at once it is learned.
import { undo } from "./api.js";
import { Camera } from "./camera.js";
import { $, announce, make, notice, touch } from "./dom.js";
import { hold } from "./hold.js";
import { known, onKnown, refresh } from "./knowledge.js";
import { count, t } from "./language.js";
import { Lesson } from "./lesson.js";
import { discard, takePictures, thumbnail } from "./pictures.js";

const PACE = 180; // milliseconds between two frames of a burst
const LESSONS = 20; // shown at most
const SHOWN = 24; // pictures that wait, as thumbnails

const panel = $("#teach-panel");
const field = $("#label");
let waiting = []; // pictures without a label yet

/** `open(name)` leads to the other panels. */
export function startTeach({ open }) {
  takePictures(panel, $("#teach-zone"), $("#teach-files"), take);
  const camera = new Camera(panel, (on) => ($("#burst-hint").hidden = !on));
  $("#teach-form").addEventListener("submit", (event) => {
    event.preventDefault();
    if (!label()) askForLabel();
    else if (waiting.length) take(wait([]));
    else if (camera.on) $("#burst").focus();
    else $("#teach-zone").focus();
  });
  $("#waiting-discard").addEventListener("click", () => {
    announce(t("Discarded {pictures}.", { pictures: count(wait([]).length, "picture") }));
    field.focus();
  });
  field.addEventListener("input", render);
  const button = $("#burst");
  hold(button, {
    pick: () => label() || null,
    async start(name, held) {
      button.classList.add("held");
      button.firstChild.textContent = 0;
      await burst(name, camera, held, (taken) => (button.firstChild.textContent = taken));
      button.classList.remove("held");
      button.firstChild.textContent = t("Hold to teach");
    },
  });
  button.addEventListener("click", () => label() || askForLabel());
  onKnown(render);
  $("#teach-next button").addEventListener("click", () => open("try"));
  window.addEventListener("beforeunload", (event) => $(".lesson[aria-busy=true]") && event.preventDefault());
  return {
    leave: () => camera.stop(),
    /** A label waits for its pictures. */
    fill(text) {
      field.value = text;
      render();
      $("#teach-zone").focus();
    },
  };
}

const label = () => field.value.trim().normalize("NFC"); // as the service does

/** Has these pictures wait for their label, in the place of those that did, which are returned. */
function wait(pictures) {
  const before = waiting;
  waiting = pictures;
  [...$("#waiting-pictures").children].forEach(discard);
  $("#waiting-pictures").append(...pictures.slice(0, SHOWN).map(({ file }) => thumbnail(file)));
  render();
  return before;
}

/**
 * Teaches these pictures, and no others, by the label in the field, or else by the name of the folder that they came in.
 * Those without either wait.
 */
async function take(pictures) {
  const groups = new Map();
  const nameless = [];
  for (const picture of pictures) {
    const name = label() || picture.folder;
    if (!name) nameless.push(picture);
    else if (groups.has(name)) groups.get(name).push(picture.file);
    else groups.set(name, [picture.file]);
  }
  if (nameless.length) {
    wait([...waiting, ...nameless]);
    askForLabel();
  }
  for (const [name, files] of groups) await teach(name, files).finished;
}

/** A lesson of these pictures; `corrects`: whatever they were taken for before. */
export function teach(name, files, corrects = false) {
  const lesson = begin(name, corrects);
  lesson.add(files);
  lesson.close();
  return lesson;
}

/** A lesson of what the camera sees, as long as `held()`; `taken(n)` is told how many pictures there are. */
export async function burst(name, camera, held, taken) {
  const lesson = begin(name);
  for (let number = 1; held() && camera.on; number++) {
    lesson.add([await camera.frame()]);
    taken(number);
    await new Promise((resolve) => setTimeout(resolve, PACE));
  }
  lesson.close();
  return lesson;
}

/** Takes a lesson back: its own pictures, or where these cannot be told apart, the last change. */
export async function takeBack(lesson) {
  try {
    await (lesson.undoable ? lesson.takeBack() : undo());
    await refresh();
    notice(t("Taken back."));
  } catch (error) {
    notice(error.message);
  }
}

function begin(name, corrects) {
  const lesson = new Lesson(name, corrects);
  $(".undo", lesson.element).addEventListener("click", () => takeBack(lesson));
  $("#lessons").prepend(lesson.element);
  [...$("#lessons").children].slice(LESSONS).forEach(discard);
  render();
  const isShown = ({ classes }) => classes.some((each) => each.label === name && each.count >= lesson.count);
  lesson.finished.then(() => refresh((now) => !lesson.count || isShown(now))).catch((error) => notice(error.message));
  return lesson;
}

function askForLabel() {
  field.setAttribute("aria-invalid", "true");
  announce(t("First say what it is."));
  render();
  field.focus();
}

/** A class whose name differs in case and accents only: probably the same is meant. */
function similar(name) {
  const bare = (text) => String(text).normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  return known.classes.find((each) => bare(each.label) === bare(name))?.label;
}

function render() {
  const name = label();
  const now = known.classes.find((each) => String(each.label) === name);
  if (name) field.removeAttribute("aria-invalid");
  const missing = field.hasAttribute("aria-invalid");
  const other = name && !now && similar(name);
  $("#label-hint").textContent = missing
    ? t("First say what it is.")
    : now
      ? t("It has learned {pictures} of it.", { pictures: count(now.count, "picture") })
      : other
        ? t("There is {label} already: this would be another class.", { label: other })
        : name
          ? t("This is new to it.")
          : "";
  $("#teach-invitation").textContent = touch
    ? name ? t("Choose pictures of {name}", { name }) : t("Choose pictures")
    : name ? t("Drop pictures of {name} here", { name }) : t("Drop pictures here");
  $("#teach-invitation-more").textContent = touch
    ? t("or use the camera below")
    : name
      ? t("or paste them, or click to choose some")
      : t("or folders, each named after what its pictures show");
  $("#waiting").hidden = !waiting.length;
  $("#waiting-discard").textContent = waiting.length === 1 ? t("Discard it") : t("Discard them");
  const pictures = count(waiting.length, "picture");
  $("#teach-waiting").textContent = name
    ? t("Teach {pictures} of {name}", { pictures, name })
    : t(waiting.length === 1 ? "{pictures} waits for a name" : "{pictures} wait for a name", { pictures });
  const begun = $("#lessons").children.length > 0;
  const alone = known.classes.length < 2;
  $("#teach-idle").hidden = begun;
  if (known.thumbnails) $("#teach-idle").textContent = t("A few pictures are enough to begin with. What it learns is kept, and small copies of the pictures.");
  $("#teach-next").hidden = !begun || !known.classes.length;
  $("#teach-next button").hidden = alone;
  $("#teach-next p").textContent = alone
    ? t("One more class, and it has something to tell this one from.")
    : t("Show it something that it has not seen.");
  $("#known").replaceChildren(...known.classes.map((each) => make("option", { value: each.label })));
}
