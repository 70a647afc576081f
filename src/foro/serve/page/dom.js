// Small helpers that every part of the page uses. Text from outside enters the page as text, never as HTML.
import { language, t } from "./language.js";

export const $ = (selector, root = document) => root.querySelector(selector);

/** Whether fingers are all there is: they tap, and drop nothing. */
export const touch = matchMedia("(hover: none)").matches;

/** An element with properties and children; strings become text nodes. */
export function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

/** Says something to a screen reader without moving the focus. */
export function announce(text) {
  $("#announcement").textContent = text;
}

let hiding;

/** Shows a sentence at the foot of the page for a while, with at most one thing to do about it. */
export function notice(text, action, run) {
  const [words, button] = $("#notice").children;
  words.textContent = text;
  button.hidden = !action;
  button.textContent = action ?? "";
  button.onclick = () => {
    $("#notice").hidden = true;
    run();
  };
  $("#notice").hidden = false;
  announce(text);
  clearTimeout(hiding);
  hiding = setTimeout(() => ($("#notice").hidden = true), action ? 15_000 : 6_000);
}

/** 0.974 as "97 %"; what is not quite all or nothing does not look so. */
export function percent(share) {
  if (share > 0 && share < 0.005) return "< 1\u00a0%";
  if (share < 1 && share >= 0.995) return "> 99\u00a0%";
  return `${Math.round(100 * share)}\u00a0%`;
}

const STEPS = [["minute", 60], ["hour", 60], ["day", 24], ["month", 30.4], ["year", 12]];

/** How long ago a moment was, in words. */
export function ago(moment) {
  let unit = "second";
  let passed = (Date.now() - new Date(moment)) / 1000;
  if (passed < 45) return t("just now");
  for (const [larger, size] of STEPS) {
    if (passed < size) break;
    [unit, passed] = [larger, passed / size];
  }
  return new Intl.RelativeTimeFormat(language, { numeric: "auto" }).format(-Math.round(passed), unit);
}

/** A moment as the reader's own clock shows it. */
export function clock(moment, year = true) {
  const day = { day: "numeric", month: "short", ...(year && { year: "numeric" }) };
  return new Date(moment).toLocaleString(language, { ...day, hour: "2-digit", minute: "2-digit" });
}

/** A sentence of the service, which begins small and has no period, as a sentence of the page. */
export function sentence(text) {
  const words = String(text);
  return words.charAt(0).toUpperCase() + words.slice(1) + (/[.?!…]$/.test(words) ? "" : ".");
}

/** Has the browser save bytes as a file. */
export function save(blob, name) {
  const link = make("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
