// The page in the browser's language. A text is named by its English words; what has no translation stays English.

const own = navigator.languages?.find((each) => /^(en|de)\b/i.test(each)) ?? "en";
const words = /^de\b/i.test(own) ? (await import("./german.js")).german : {};

/** For dates and numbers. */
export const language = /^de\b/i.test(own) ? own : "en-GB";

/** A text in the reader's language, with values in the place of {names}. */
export function t(english, values = {}) {
  return (words[english] ?? english).replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}

/** "1 picture", "1,200 pictures". */
export function count(number, one, many = `${one}s`) {
  return `${number.toLocaleString(language)}\u00a0${t(number === 1 ? one : many)}`;
}

/** Translates what is in the page from the start. */
export function translatePage() {
  document.documentElement.lang = language.slice(0, 2);
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const text = node.data.trim();
    if (text in words) node.data = node.data.replace(text, words[text]);
  }
  for (const name of ["aria-label", "placeholder", "title"]) {
    for (const element of document.querySelectorAll(`[${name}]`)) {
      const text = element.getAttribute(name);
      if (text in words) element.setAttribute(name, words[text]);
    }
  }
}
