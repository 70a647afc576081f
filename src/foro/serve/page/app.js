// The page: its panels, and the line that says what is served.
import { health } from "./api.js";
import { startAway } from "./away.js";
import { startClasses } from "./classes.js";
import { $, notice } from "./dom.js";
import { known, onKnown, refresh } from "./knowledge.js";
import { count, t, translatePage } from "./language.js";
import { remember, startReview } from "./review.js";
import { startTeach } from "./teach.js";
import { askForToken, token } from "./token.js";
import { startTry } from "./try.js";

const PANELS = ["try", "teach", "review", "classes"];
const WATCH = 5_000; // milliseconds between two looks at what others have taught

translatePage();
const teachMore = (label) => {
  open("teach");
  parts.teach.fill(label);
};
const parts = { teach: startTeach({ open }), try: startTry({ open, judged: remember }) };
parts.review = startReview({
  teach: teachMore,
  look(file) {
    open("try");
    parts.try.take(file);
  },
});
startClasses({ open, teach: teachMore });
startAway();

/** Shows a panel, and stops what runs in the one before. */
function open(name) {
  $("#notice").hidden = true;
  for (const each of PANELS) {
    const tab = $(`#tab-${each}`);
    tab.setAttribute("aria-selected", String(each === name));
    tab.tabIndex = each === name ? 0 : -1;
    if (each !== name && !$(`#${each}-panel`).hidden) parts[each]?.leave?.();
    $(`#${each}-panel`).hidden = each !== name;
  }
  if (location.hash !== `#${name}`) history.replaceState(null, "", `#${name}`);
  parts[name]?.enter?.();
  if (name === "classes") load();
}

for (const name of PANELS) {
  $(`#tab-${name}`).addEventListener("click", () => open(name));
  $(`#tab-${name}`).addEventListener("keydown", (event) => {
    const place = PANELS.indexOf(name);
    const to = { ArrowRight: place + 1, ArrowLeft: place + PANELS.length - 1, Home: 0, End: PANELS.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    open(PANELS[to % PANELS.length]);
    $(`#tab-${PANELS[to % PANELS.length]}`).focus();
  });
}

async function load() {
  try {
    $("#model").textContent ||= (await health()).model;
    await refresh();
  } catch (error) {
    $("#status").textContent = error.message;
    notice(error.message, t("Try again"), load);
  }
}

onKnown(({ loaded, classes, samples }) => {
  if (!loaded) return;
  $("#status").textContent = `${count(classes.length, "class", "classes")} · ${count(samples, "picture")}`;
});

/** Another tab, or another person, may have taught or forgotten something. */
async function watch() {
  if (document.hidden || !known.loaded) return;
  if ((await health()).model_version !== known.model_version) await refresh();
}

setInterval(() => watch().catch(() => {}), WATCH); // if it does not answer, the next thing that is asked says so
document.addEventListener("visibilitychange", () => watch().catch(() => {}));

$("#change-token").hidden = !token();
$("#change-token").addEventListener("click", async () => {
  if (await askForToken(t("Another token takes the place of the one in use."))) load();
});
window.addEventListener("hashchange", () => open(here()));

const here = () => (PANELS.includes(location.hash.slice(1)) ? location.hash.slice(1) : "try");

open(here());
if (here() !== "classes") load();

navigator.serviceWorker?.register("service_worker.js").catch(() => {}); // without it the page is not an app, and that is all
