// Classes: what the model knows, how well, since when; forget and undo.
import { forget, restore } from "./api.js";
import { drawChart } from "./chart.js";
import { $, ago, clock, make, notice, percent } from "./dom.js";
import { known, onKnown, refresh } from "./knowledge.js";

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
  const button = make("button", { className: "primary" }, "Teach the first class");
  button.addEventListener("click", () => open("teach"));
  $("#classes-empty").append(
    make("h2", {}, "It knows nothing yet"),
    make("p", {}, "Every class that you teach appears here, with an estimate of how well it is recognised."),
    button,
  );
  onKnown(render);
}

function render() {
  const { classes, samples, accuracy, history, removed: forgotten } = known;
  $("#classes-empty").hidden = !known.loaded || classes.length > 0;
  $("#classes-known").hidden = !classes.length;
  $("#figure-classes").textContent = classes.length.toLocaleString("en");
  $("#figure-samples").textContent = samples.toLocaleString("en");
  $("#figure-accuracy").textContent = accuracy === null ? "–" : percent(accuracy);
  $("#filter").hidden = classes.length < MANY;
  const wanted = $("#filter").hidden ? "" : $("#filter").value.trim().toLowerCase();
  const shown = classes.filter((each) => String(each.label).toLowerCase().includes(wanted)).sort(compare);
  $("#rows").replaceChildren(...shown.map(row));
  for (const head of heads) {
    if (head.dataset.key === order.key) head.setAttribute("aria-sort", order.down ? "descending" : "ascending");
    else head.removeAttribute("aria-sort");
  }
  $("#forgotten").hidden = !forgotten.length;
  $("#forgotten ul").replaceChildren(...forgotten.map((each) => forgottenItem(each.label ?? each)));
  drawChart($("#chart"), history);
}

function compare(one, other) {
  const [a, b] = [one[order.key] ?? -1, other[order.key] ?? -1];
  const sign = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
  return order.down ? -sign : sign;
}

function row({ label, count: pictures, accuracy, last_taught: taught }) {
  const more = make("button", { className: "quiet", ariaLabel: `Teach more of ${label}` }, "Teach");
  more.addEventListener("click", () => teachMore(label));
  const away = make("button", { className: "quiet", ariaLabel: `Forget ${label}` }, "Forget");
  away.addEventListener("click", () => forgetClass(label, away));
  const cells = [
    make("th", { scope: "row" }, String(label)),
    make("td", { className: "number" }, pictures.toLocaleString("en")),
    make("td", { className: "accuracy" }, ...(accuracy === null ? ["–"] : share(accuracy))),
    make("td", { className: "taught" }, taught ? make("time", { dateTime: taught, title: clock(taught) }, ago(taught)) : "–"),
    make("td", { className: "change" }, more, away),
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
  await attempt(() => forget(label), gone, `Forgot ${label}.`, "Undo", () => bringBack(label));
  button.disabled = false;
  if (!button.isConnected) $("#tab-classes").focus(); // the keyboard must not be lost with the button
}

function forgottenItem(label) {
  const button = make("button", { ariaLabel: `Undo forgetting ${label}` }, "Undo");
  button.addEventListener("click", () => bringBack(label));
  return make("li", {}, make("span", {}, String(label)), button);
}

function bringBack(label) {
  const back = ({ classes }) => classes.some((each) => each.label === label);
  return attempt(() => restore(label), back, `${label} is back, as if never forgotten.`);
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
