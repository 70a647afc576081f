// Classes: what the model knows, how well, since when; rename, forget and undo.
import { forget, rename, restore, undo } from "./api.js";
import { drawChart } from "./chart.js";
import { $, ago, clock, make, notice, percent } from "./dom.js";
import { known, onKnown, refresh } from "./knowledge.js";
import { count, language, t } from "./language.js";

const LATELY = 5; // changes that are listed
const MANY = 12; // classes from which on a search helps

const panel = $("#classes-panel");
const heads = [...panel.querySelectorAll("th[data-key]")];
let order = { key: "label", down: false };
let teachMore;

/** `teach(label)` and `open(name)` lead to the other panels. */
export function startClasses({ teach, open }) {
  teachMore = teach;
  for (const head of heads) {
    head.firstChild.addEventListener("click", () => {
      order = { key: head.dataset.key, down: order.key === head.dataset.key && !order.down };
      render();
    });
  }
  $("#filter").addEventListener("input", render);
  const button = make("button", { className: "primary" }, t("Teach the first class"));
  button.addEventListener("click", () => open("teach"));
  $("#classes-empty").append(
    make("h2", {}, t("It knows nothing yet")),
    make("p", {}, t("Every class that you teach appears here, with an estimate of how well it is recognised.")),
    button,
  );
  onKnown(render);
}

function render() {
  const { classes, samples, accuracy, history, removed: forgotten } = known;
  $("#classes-empty").hidden = !known.loaded || classes.length > 0;
  $("#classes-known").hidden = !classes.length;
  $("#figure-classes").textContent = classes.length.toLocaleString(language);
  $("#figure-samples").textContent = samples.toLocaleString(language);
  $("#figure-accuracy").textContent = accuracy === null ? "–" : percent(accuracy);
  $("#filter").hidden = classes.length < MANY;
  const wanted = $("#filter").hidden ? "" : $("#filter").value.trim().toLowerCase();
  const shown = classes.filter((each) => String(each.label).toLowerCase().includes(wanted)).sort(compare);
  $("#rows").replaceChildren(...shown.map(row));
  for (const head of heads) {
    if (head.dataset.key === order.key) head.setAttribute("aria-sort", order.down ? "descending" : "ascending");
    else head.removeAttribute("aria-sort");
  }
  $("#undo").hidden = !known.undo?.length;
  $("#undo ol").replaceChildren(...(known.undo ?? []).slice(0, LATELY).map(change));
  $("#forgotten").hidden = !forgotten.length;
  $("#forgotten ul").replaceChildren(...forgotten.map((each) => forgottenItem(each.label ?? each)));
  drawChart($("#chart"), history);
}

function compare(one, other) {
  const [a, b] = [one[order.key] ?? -1, other[order.key] ?? -1];
  const sign = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), language, { numeric: true });
  return order.down ? -sign : sign;
}

function row({ label, count: pictures, accuracy, last_taught: taught }) {
  const number = make("td", { className: "number" }, pictures.toLocaleString(language));
  number.dataset.unit = t(pictures === 1 ? "picture" : "pictures"); // shown where the table has no head
  const more = make("button", { className: "quiet", ariaLabel: t("Teach more of {label}", { label }) }, t("Teach"));
  more.addEventListener("click", () => teachMore(label));
  const name = make("button", { className: "quiet", ariaLabel: t("Rename {label}", { label }) }, t("Rename"));
  name.addEventListener("click", () => askForName(label));
  const away = make("button", { className: "quiet", ariaLabel: t("Forget {label}", { label }) }, t("Forget"));
  away.addEventListener("click", () => forgetClass(label, away));
  const cells = [
    make("th", { scope: "row" }, String(label)),
    number,
    make("td", { className: "accuracy" }, ...(accuracy === null ? ["–"] : share(accuracy))),
    make("td", { className: "taught" }, taught ? make("time", { dateTime: taught, title: clock(taught) }, ago(taught)) : "–"),
    make("td", { className: "change" }, more, name, away),
  ];
  // Narrow screens lay the table out as cards, which must stay a table to a screen reader.
  cells.forEach((cell, place) => (cell.role = place ? "cell" : "rowheader"));
  return make("tr", { role: "row" }, ...cells);
}

function share(accuracy) {
  const bar = make("span");
  bar.style.width = `${100 * accuracy}%`;
  return [make("span", { className: "track", ariaHidden: "true" }, bar), make("span", {}, percent(accuracy))];
}

async function forgetClass(label, button) {
  button.disabled = true;
  const gone = ({ classes }) => !classes.some((each) => each.label === label);
  await attempt(() => forget(label), gone, t("Forgot {label}.", { label }), t("Undo"), () => bringBack(label));
  button.disabled = false;
  if (!button.isConnected) $("#tab-classes").focus(); // the keyboard must not be lost with the button
}

const CHANGES = {
  learn: "Learned {pictures} of {labels}",
  unlearn: "Unlearned {pictures} of {labels}",
  forget: "Forgot {labels}",
  restore: "Brought {labels} back",
  rename: "Renamed {labels}",
  merge: "Merged a model with {pictures}",
};

/** A change that can be taken back, if all that came after it was. */
function change({ what, time, samples, labels }, place) {
  const told = t(CHANGES[what], { pictures: count(samples, "picture"), labels: labels.join(", ") });
  const item = make("li", {}, make("span", {}, `${told}, `, make("time", { dateTime: time, title: clock(time) }, ago(time))));
  if (place) return item;
  const button = make("button", { ariaLabel: t("Undo: {change}", { change: told }) }, t("Undo"));
  button.addEventListener("click", () => attempt(undo, () => true, t("Taken back.")));
  item.append(button);
  return item;
}

/** Another name for a class; one that is there already makes one class of both. */
function askForName(label) {
  const dialog = $("#rename-dialog");
  const field = $("#rename");
  field.value = label;
  $("#rename-title").textContent = t("Rename {label}", { label });
  $("#rename-cancel").onclick = () => dialog.close();
  $("form", dialog).onsubmit = (event) => {
    event.preventDefault();
    const to = field.value.trim().normalize("NFC");
    dialog.close();
    const renamed = ({ classes }) => !classes.some((each) => each.label === label);
    if (to && to !== label) attempt(() => rename(label, to), renamed, t("{label} is called {to} now.", { label, to }));
  };
  dialog.showModal();
  field.select();
}

function forgottenItem(label) {
  const button = make("button", { ariaLabel: t("Undo forgetting {label}", { label }) }, t("Undo"));
  button.addEventListener("click", () => bringBack(label));
  return make("li", {}, make("span", {}, String(label)), button);
}

function bringBack(label) {
  const back = ({ classes }) => classes.some((each) => each.label === label);
  return attempt(() => restore(label), back, t("{label} is back, as if never forgotten.", { label }));
}

async function attempt(change, shown, ...done) {
  try {
    await change();
    notice(...done);
    await refresh(shown);
  } catch (error) {
    notice(error.message);
  }
}
