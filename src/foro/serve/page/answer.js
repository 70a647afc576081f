// What the model takes a picture for: the verdict, a bar for each class and for none of them, and a tap to put it right.
import { fill, showBars } from "./bars.js";
import { $, announce, percent } from "./dom.js";
import { hold } from "./hold.js";
import { known } from "./knowledge.js";
import { count, t } from "./language.js";

const SURE = 0.5; // below, the answer is a guess and says so

const panel = $("#try-panel");
const field = $("#try-label");
let said = "";

/** `teach(label, held)` is called for a tap, and while the camera is on for a bar that is held as long as `held()`. */
export function startAnswer({ teach, live }) {
  const labelOf = (target) => target.closest("li")?.label ?? null;
  hold($("#try-bars"), { pick: (target) => (live() ? labelOf(target) : null), start: teach });
  $("#try-bars").addEventListener("click", ({ target }) => {
    if (!live() && labelOf(target) !== null) teach(labelOf(target));
  });
  $("#try-none").addEventListener("click", () => field.focus());
  $("#try-teach").addEventListener("submit", (event) => {
    event.preventDefault();
    const label = field.value.trim().normalize("NFC"); // as the service does
    if (!label) return field.focus();
    field.value = "";
    teach(label);
  });
}

/** The next answer is said aloud, even if it is the same as before. */
export function forgetSaid() {
  said = "";
}

/** One answer, or what went wrong, or that it is still awaited. */
export function showAnswer({ answer, trouble }, { awaited, steady }) {
  $("#try-answer").hidden = !answer;
  $("#try-trouble").hidden = !trouble;
  $("#try-trouble").textContent = trouble ?? "";
  $("#try-waiting").hidden = Boolean(answer || trouble || !known.classes.length);
  $("#try-waiting").textContent = awaited ? t("Looking …") : t("The answer appears here.");
  if (trouble) announce(trouble);
  if (!answer) return;
  const { name, share, none, top } = verdict(answer);
  const sure = share >= SURE;
  $(".verdict .doubt", panel).textContent = sure ? "" : answer.unknown > share ? t("Perhaps none of these, or") : t("Not sure. Perhaps");
  $(".verdict .name", panel).textContent = name;
  $(".verdict .confidence", panel).textContent = t("{share} sure", { share: percent(share) });
  showBars($("#try-bars"), top, steady);
  $("#try-bars").classList.toggle("unlikely", none);
  $("#try-bars").classList.toggle("held-live", steady);
  $("#try-none").classList.toggle("best", none);
  fill($("#try-none"), answer.unknown);
  $("#try-ask").textContent = steady ? t("Hold the right one, and it learns what it sees.") : t("Tap the right one, and it learns from this picture.");
  const hidden = known.classes.length - answer.top.length;
  $("#try-more").textContent = hidden > 0 ? t("and {classes} less likely", { classes: count(hidden, "class", "classes") }) : "";
  if (known.classes.length === 1) $("#try-more").textContent = t("It knows nothing else yet: teach it a second class to compare with.");
  // A live answer is said when it changes, not with every frame.
  const words = sure ? name : t("perhaps {name}", { name });
  if (words !== said) announce(`${words}, ${percent(share)}`);
  said = words;
}

/** What is most likely, none of the classes included; shares add up to one over all of them. */
export function verdict({ top, unknown }) {
  const rest = 1 - (unknown ?? 0);
  const scaled = top.map(({ label, confidence }) => ({ label, confidence: rest * confidence }));
  const none = (unknown ?? 0) >= 0.5;
  return { none, top: scaled, name: none ? t("None of these") : top[0].label, share: none ? unknown : scaled[0].confidence };
}
