// One lesson: pictures of one class on their way to the service, and what became of them.
import { learn, newKey } from "./api.js";
import { $, announce, count, make, sentence } from "./dom.js";
import { discard, nextBatch, thumbnail } from "./pictures.js";

const THUMBNAILS = 8;
const TOO_MUCH = ["too-large", "too-many-images", "too-many-pixels"]; // for one request

export class Lesson {
  label;
  count = 0; // pictures of the class in all
  element;
  finished; // a promise: closed, and every picture learned or left out
  #finish;
  #closed = false;
  #queue = [];
  #batch = null; // {files, key}, kept until it is acknowledged, so that a retry is never learned twice
  #alone = 0; // pictures to be sent one by one, because together they were refused
  #sending = false;
  #total = 0;
  #learned = 0;
  #seconds = 0;

  constructor(label) {
    this.label = label;
    this.finished = new Promise((resolve) => (this.#finish = resolve));
    const again = make("button", { type: "button" }, "Try again");
    again.addEventListener("click", () => this.#send());
    this.element = make(
      "li",
      { className: "lesson" },
      make("p", { className: "gain" }),
      make("div", {}, make("h2", {}, label), make("p", { className: "progress" })),
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

  async #send() {
    if (this.#sending) return;
    this.#sending = true;
    $(".trouble", this.element).hidden = true;
    this.#render();
    try {
      while (this.#batch || this.#queue.length) {
        this.#batch ??= this.#nextBatch();
        await this.#learn(this.#batch);
        this.#batch = null;
        this.#render();
      }
    } catch (error) {
      $(".trouble span", this.element).textContent = error.message;
      $(".trouble", this.element).hidden = false;
      announce(error.message);
    }
    this.#sending = false;
    this.#render();
    if (this.#batch || !this.#closed) return;
    announce(`Learned ${count(this.#learned, "picture")} of ${this.label}, ${count(this.count, "picture")} in all. ${$(".left", this.element).textContent}`);
    this.#finish();
  }

  #nextBatch() {
    const files = this.#alone ? [this.#queue.shift()] : nextBatch(this.#queue);
    this.#alone = Math.max(0, this.#alone - files.length);
    return { files, key: newKey() };
  }

  async #learn({ files, key }) {
    try {
      const report = await learn(this.label, files, key);
      this.#learned += report.learned;
      this.#seconds += report.seconds;
      this.count = report.count;
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
    $(".left", this.element).append(make("li", {}, make("b", {}, file.name), ` was left out. ${sentence(why)}`));
  }

  #render() {
    const stuck = !$(".trouble", this.element).hidden;
    const busy = !stuck && (!this.#closed || this.#learned < this.#total);
    this.element.ariaBusy = String(busy);
    $(".gain", this.element).textContent = `+${this.#learned}`;
    $(".progress", this.element).textContent = busy
      ? `learning … ${this.#learned} of ${count(this.#total, "picture")}`
      : this.count
        ? `${count(this.count, "picture")} in all · ${this.#seconds.toFixed(1)}\u00a0s`
        : "";
  }

  #showThumbnails(files) {
    const strip = $(".thumbnails", this.element);
    for (const file of files) strip.prepend(thumbnail(file));
    [...strip.children].slice(THUMBNAILS).forEach(discard);
  }
}
