// Answers to one frame after the other, as one answer that does not flicker.

const MEMORY = 350; // milliseconds after which a frame counts a third of a new one
const PATIENCE = 300; // milliseconds that another class must lead before it takes over
const NONE = Symbol("none of these");

export class Steady {
  #shares = new Map(); // smoothed, of every class and of none of them
  #leader = null;
  #rival = null;
  #since = 0;
  #last = -Infinity;

  /** The answer so far, in the shape of the service's own, with the steady class first. */
  add({ top, unknown }, now = performance.now()) {
    const fresh = new Map(top.map(({ label, confidence }) => [label, confidence]));
    if (unknown !== null) fresh.set(NONE, unknown);
    const weight = 1 - Math.exp(-(now - this.#last) / MEMORY);
    this.#last = now;
    for (const name of new Set([...this.#shares.keys(), ...fresh.keys()])) {
      const before = this.#shares.get(name) ?? 0;
      this.#shares.set(name, before + weight * ((fresh.get(name) ?? 0) - before));
    }
    for (const [name, share] of this.#shares) if (share < 1e-4 && !fresh.has(name)) this.#shares.delete(name);
    const ranked = [...this.#shares].filter(([name]) => name !== NONE).sort((one, other) => other[1] - one[1]);
    this.#lead(ranked[0][0], now);
    ranked.sort((one, other) => (other[0] === this.#leader) - (one[0] === this.#leader));
    const best = ranked.slice(0, top.length).map(([label, confidence]) => ({ label, confidence }));
    return { ...best[0], unknown: unknown === null ? null : this.#shares.get(NONE), top: best };
  }

  #lead(best, now) {
    if (best !== this.#rival) [this.#rival, this.#since] = [best, now];
    if (this.#leader === null || !this.#shares.has(this.#leader) || now - this.#since >= PATIENCE) this.#leader = best;
  }
}
