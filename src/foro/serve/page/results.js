// Many pictures and what each was taken for: a strip to choose from, how far it is, and the whole as a table.
import { verdict } from "./answer.js";
import { $, make, save } from "./dom.js";
import { count, t } from "./language.js";
import { discard, show } from "./pictures.js";

const strip = $("#try-strip");
let choose;
let cancel;

/** `choose(item)` shows one of them, `cancel()` stops judging. */
export function startResults(actions) {
  ({ choose, cancel } = actions);
  $("#try-cancel").addEventListener("click", () => cancel());
  $("#try-csv").addEventListener("click", () => save(new Blob([table(items())], { type: "text/csv" }), "results.csv"));
}

const items = () => [...strip.querySelectorAll("button")].map((button) => button.item);

// Thousands of pictures are listed, but only those in sight are decoded.
const sight = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) {
      const image = target.firstChild;
      if (isIntersecting && !image.src) show(image, target.item.file, () => image.removeAttribute("src"));
      else if (!isIntersecting && image.src) {
        URL.revokeObjectURL(image.src);
        image.removeAttribute("src");
      }
    }
  },
  { root: strip, rootMargin: "200px" },
);

/** Lists pictures anew, if there are several. */
export function listResults(some) {
  sight.disconnect();
  [...strip.children].forEach(discard);
  $("#try-results").hidden = some.length < 2;
  if (some.length < 2) return;
  for (const item of some) {
    const image = make("img", { alt: "" });
    const button = make("button", { title: item.file.name, item }, image, make("span"));
    button.addEventListener("click", () => choose(item));
    strip.append(make("li", {}, button));
    sight.observe(button);
  }
}

/** Shows what is known by now of the pictures in the list; `going`: whether more is to come. */
export function showResults(chosen, going) {
  const all = items();
  const done = all.filter(({ answer, trouble }) => answer || trouble).length;
  for (const button of strip.querySelectorAll("button")) {
    button.setAttribute("aria-pressed", String(button.item === chosen));
    button.lastChild.textContent = caption(button.item);
  }
  $("#try-progress").hidden = $("#try-cancel").hidden = !going;
  Object.assign($("#try-progress"), { max: all.length, value: done });
  $("#try-csv").hidden = going || !done;
  $("#try-done").textContent = going
    ? t("{done} of {pictures}", { done, pictures: count(all.length, "picture") })
    : done < all.length
      ? t("Stopped after {done} of {pictures}", { done, pictures: count(all.length, "picture") })
      : count(all.length, "picture");
}

function caption({ answer, trouble }) {
  if (answer) return verdict(answer).name;
  return trouble ? t("not read") : "…";
}

/** The results as CSV: one line for each picture. */
function table(all) {
  const lines = all.map(({ file, answer, trouble }) => {
    const name = file.webkitRelativePath || file.name;
    return [name, answer?.label ?? "", answer?.confidence ?? "", answer?.unknown ?? "", trouble ?? ""];
  });
  return [["file", "label", "confidence", "unknown", "problem"], ...lines].map((line) => line.map(cell).join(",")).join("\r\n") + "\r\n";
}

/** Text as a cell; a table program must not take it for a formula. */
function cell(value) {
  const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
