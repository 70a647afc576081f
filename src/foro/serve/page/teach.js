// Teach: a label, pictures of it or the camera held on it, and at once it is learned.
import { Camera } from "./camera.js";
import { $, announce, count, make, notice, touch } from "./dom.js";
import { known, onKnown, refresh } from "./knowledge.js";
import { Lesson } from "./lesson.js";
import { discard, takePictures, thumbnail } from "./pictures.js";

const PACE = 180; // milliseconds between two frames of a burst
const SHORT = 5; // frames of a burst that is clicked, not held
const LESSONS = 20; // shown at most
const SHOWN = 24; // pictures that wait, as thumbnails

const panel = $("#teach-panel");
const field = $("#label");
let waiting = []; // pictures without a label yet

/** `open(name)` leads to the other panels. */
export function startTeach({ open }) {
  takePictures(panel, $("#teach-zone"), $("#teach-files"), (pictures) => take(pictures));
  const camera = new Camera(panel, (on) => ($("#burst-hint").hidden = !on));
  $("#teach-form").addEventListener("submit", (event) => {
    event.preventDefault();
    if (!label()) askForLabel();
    else if (waiting.length) take(wait([]));
    else if (camera.on) $("#burst").focus();
    else $("#teach-zone").focus();
  });
  $("#waiting-discard").addEventListener("click", () => {
    announce(`Discarded ${count(wait([]).length, "picture")}.`);
    field.focus();
  });
  field.addEventListener("input", render);
  holdToTeach($("#burst"), camera);
  onKnown(render);
  $("#teach-next button").addEventListener("click", () => open("try"));
  window.addEventListener("beforeunload", (event) => $(".lesson[aria-busy=true]") && event.preventDefault());
  return {
    leave() {
      camera.stop();
      dismissGuests();
    },
    /** A picture from elsewhere waits here for its label, as long as nothing else is done; or a label for its pictures. */
    fill({ files = [], text = "" }) {
      field.value = text;
      wait(files.map((file) => ({ file, folder: null, guest: true })));
      (text ? $("#teach-zone") : field).focus();
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

/** A picture that came from elsewhere to be named leaves when something else is taught, or another panel opened. */
function dismissGuests() {
  if (waiting.some(({ guest }) => guest)) wait(waiting.filter(({ guest }) => !guest));
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
  dismissGuests();
  if (nameless.length) {
    wait([...waiting, ...nameless]);
    askForLabel();
  }
  for (const [name, files] of groups) {
    const lesson = begin(name);
    lesson.add(files);
    lesson.close();
    await lesson.finished;
  }
}

function begin(name) {
  dismissGuests();
  const lesson = new Lesson(name);
  $("#lessons").prepend(lesson.element);
  [...$("#lessons").children].slice(LESSONS).forEach(discard);
  render();
  const isShown = ({ classes }) => classes.some((each) => each.label === name && each.count >= lesson.count);
  lesson.finished.then(() => refresh((now) => !lesson.count || isShown(now))).catch((error) => notice(error.message));
  return lesson;
}

function askForLabel() {
  field.setAttribute("aria-invalid", "true");
  announce("First say what it is.");
  render();
  field.focus();
}

/** A button that takes pictures as long as it is held, by hand or by key; a mere click takes a few. */
function holdToTeach(button, camera) {
  let held = false;

  async function burst(most) {
    if (held || !label()) return;
    held = true;
    button.classList.add("held");
    const lesson = begin(label());
    for (let taken = 0; held && camera.on && taken < most; taken++) {
      lesson.add([await camera.frame()]);
      button.firstChild.textContent = taken + 1;
      await new Promise((resolve) => setTimeout(resolve, PACE));
    }
    release();
    button.classList.remove("held");
    button.firstChild.textContent = "Hold to teach";
    lesson.close();
  }

  const release = () => (held = false);
  button.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    button.setPointerCapture(event.pointerId);
    burst(Infinity);
  });
  for (const end of ["pointerup", "pointercancel", "lostpointercapture", "blur"]) button.addEventListener(end, release);
  button.addEventListener("contextmenu", (event) => event.preventDefault()); // a long press on a phone
  button.addEventListener("keydown", (event) => {
    if (event.key !== " " && event.key !== "Enter") return;
    event.preventDefault();
    if (!label()) askForLabel();
    else if (!event.repeat) burst(Infinity);
  });
  button.addEventListener("keyup", (event) => {
    event.preventDefault(); // or a browser would make a click of it
    release();
  });
  button.addEventListener("click", (event) => {
    if (!label()) askForLabel();
    else if (event.detail === 0) burst(SHORT); // neither a hand nor a key: a screen reader or a voice
  });
}

function render() {
  const name = label();
  const now = known.classes.find((each) => String(each.label) === name);
  if (name) field.removeAttribute("aria-invalid");
  const missing = field.hasAttribute("aria-invalid");
  $("#label-hint").textContent = missing
    ? "First say what it is."
    : now
      ? `It has learned ${count(now.count, "picture")} of it.`
      : name
        ? "This is new to it."
        : "";
  const of = name ? `pictures of ${name}` : "pictures";
  $("#teach-invitation").textContent = touch ? `Choose ${of}` : `Drop ${of} here`;
  $("#teach-invitation-more").textContent = touch
    ? "or use the camera below"
    : name
      ? "or paste them, or click to choose some"
      : "or folders, each named after what its pictures show";
  $("#waiting").hidden = !waiting.length;
  $("#waiting-discard").textContent = waiting.length === 1 ? "Discard it" : "Discard them";
  const button = $("#teach-waiting");
  button.textContent = name
    ? `Teach ${count(waiting.length, "picture")} of ${name}`
    : `${count(waiting.length, "picture")} ${waiting.length === 1 ? "waits" : "wait"} for a name`;
  const begun = $("#lessons").children.length > 0;
  const alone = known.classes.length < 2;
  $("#teach-idle").hidden = begun;
  $("#teach-next").hidden = !begun || !known.classes.length;
  $("#teach-next button").hidden = alone;
  $("#teach-next p").textContent = alone
    ? "One more class, and it has something to tell this one from."
    : "Show it something that it has not seen.";
  $("#known").replaceChildren(...known.classes.map((each) => make("option", { value: each.label })));
}
