// One lesson: pictures of one class on their way to the service, and what became of them.
import { learn, newKey, TOO_MUCH, unlearn } from "./api.js";
import { $, announce, make, sentence } from "./dom.js";
import { count, t } from "./language.js";
import { discard, nextBatch, thumbnail } from "./pictures.js";

const THUMBNAILS = 8;

export class Lesson {
  label;
  count = 0; // pictures of the class in all
  learned = 0; // by this lesson
  trouble = ""; // why it does not go on, or why nothing was learned
  element;
  finished; // a promise: closed, and every picture learned or left out
  #finish;
  #closed = false;
  #queue = [];
  #batch = null; // {files, key}, kept until it is acknowledged, so that a retry is never learned twice
  #alone = 0; // pictures to be sent one by one, because together they were refused
  #sending = false;
  #total = 0;
  #known = 0; // pictures that it had learned before
  #own = []; // pictures that this lesson has taught
  #apart = true; // none of them had another label before
  #corrects;
  #seconds = 0;

  /** `corrects`: pictures that were learned with another label get this one. */
  constructor(label, corrects = false) {
    this.label = label;
    this.#corrects = corrects;
    this.finished = new Promise((resolve) => (this.#finish = resolve));
    const again = make("button", { type: "button" }, t("Try again"));
    again.addEventListener("click", () => this.#send());
    const undo = make("button", { type: "button", className: "undo", hidden: true, ariaLabel: t("Undo: {change}", { change: label }) }, t("Undo"));
    this.element = make(
      "li",
      { className: "lesson" },
      make("p", { className: "gain" }),
      make("div", {}, make("h2", {}, label), make("p", { className: "progress" })),
      undo,
      make("div", { className: "thumbnails", ariaHidden: "true" }),
      make("ul", { className: "left" }),
      make("p", { className: "trouble", hidden: true }, make("span"), again),
    );
  }

  /** More pictures; they are sent at once. */
  add(files) {
    this.#queue.push(...files);
    this.#total += files.length;
    this.#showThumbnails(files.slice(-THUMBNAILS));
    this.#send();
  }

  /** There will be no more. */
  close() {
    this.#closed = true;
    this.#send();
  }

  /** Whether its pictures, and no others, can be taken back, whatever was taught since. */
  get undoable() {
    return this.#apart && this.#own.length > 0;
  }

  /** Takes its pictures back. */
  async takeBack() {
    while (this.#own.length) {
      const files = nextBatch([...this.#own]);
      const { unlearned, count: left } = await unlearn(this.label, files, newKey());
      this.#own.splice(0, files.length);
      this.learned -= unlearned;
      this.#total -= unlearned;
      this.count = left;
    }
    this.#render();
    $(".progress", this.element).textContent = t("Taken back.");
  }

  async #send() {
    if (this.#sending) return;
    this.#sending = true;
    $(".trouble", this.element).hidden = true;
    this.trouble = "";
    this.#render();
    try {
      while (this.#batch || this.#queue.length) {
        this.#batch ??= this.#nextBatch();
        await this.#learn(this.#batch);
        this.#batch = null;
        this.#render();
      }
    } catch (error) {
      this.trouble = error.message;
      $(".trouble span", this.element).textContent = error.message;
      $(".trouble", this.element).hidden = false;
      announce(error.message);
    }
    this.#sending = false;
    this.#render();
    if (this.#batch || !this.#closed) return;
    const told = { pictures: count(this.learned, "picture"), label: this.label, all: count(this.count, "picture") };
    announce(`${t("Learned {pictures} of {label}, {all} in all.", told)} ${$(".left", this.element).textContent}`);
    this.#finish();
  }

  #nextBatch() {
    const files = this.#alone ? [this.#queue.shift()] : nextBatch(this.#queue);
    this.#alone = Math.max(0, this.#alone - files.length);
    return { files, key: newKey() };
  }

  async #learn({ files, key }) {
    try {
      const report = await learn(this.label, files, key, this.#corrects);
      this.learned += report.learned + (report.relabelled ?? 0);
      this.#known += report.known ?? 0;
      this.#seconds += report.seconds;
      this.count = report.count;
      if (report.relabelled) this.#apart = false;
      const left = [...report.known_at, ...[...(report.other_label ?? []), ...report.skipped].map(({ index }) => index)];
      this.#own.push(...files.filter((_, place) => !left.includes(place)));
      for (const { index, label } of report.other_label ?? []) this.#leaveOut(files[index], t("it was learned as {label}", { label }));
      for (const { index, detail } of report.skipped) this.#leaveOut(files[index], detail);
    } catch (error) {
      if (error.skipped) for (const { index, detail } of error.skipped) this.#leaveOut(files[index], detail);
      else if (TOO_MUCH.includes(error.kind)) this.#divide(files, error.message);
      else throw error;
    }
  }

  #divide(files, why) {
    if (files.length === 1) return this.#leaveOut(files[0], why);
    this.#queue.unshift(...files);
    this.#alone = files.length;
  }

  #leaveOut(file, why) {
    this.#total--;
    this.trouble = `${t("{name} was left out.", { name: file.name })} ${sentence(why)}`;
    $(".left", this.element).append(make("li", {}, this.trouble));
  }

  #render() {
    const stuck = !$(".trouble", this.element).hidden;
    const busy = !stuck && (!this.#closed || this.learned + this.#known < this.#total);
    this.element.ariaBusy = String(busy);
    $(".undo", this.element).hidden = busy || !this.undoable;
    $(".gain", this.element).textContent = `+${this.learned}`;
    $(".progress", this.element).textContent = busy
      ? t("learning … {learned} of {pictures}", { learned: this.learned, pictures: count(this.#total, "picture") })
      : this.count
        ? [
            t("{pictures} in all", { pictures: count(this.count, "picture") }),
            this.#known ? t("{number} known already", { number: this.#known }) : `${this.#seconds.toFixed(1)}\u00a0s`,
          ].join(" · ")
        : "";
  }

  #showThumbnails(files) {
    const strip = $(".thumbnails", this.element);
    for (const file of files) strip.prepend(thumbnail(file));
    [...strip.children].slice(THUMBNAILS).forEach(discard);
  }
}
