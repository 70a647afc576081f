// What the service knows at this moment, shared by all parts of the page.
import * as api from "./api.js";

export let known = { classes: [], samples: 0, accuracy: null, history: [], removed: [], loaded: false };

const TRIES = 15;
const listeners = [];

/** Calls back with what is known, now and whenever it changes. */
export function onKnown(listener) {
  listeners.push(listener);
  listener(known);
}

/** Asks the service anew; after a change, until the change is `shown`: a large classifier takes a moment to make. */
export async function refresh(shown = () => true) {
  for (let tries = 1; ; tries++) {
    known = { ...(await api.classes()), loaded: true };
    for (const listener of listeners) listener(known);
    if (tries === TRIES || shown(known)) return;
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}
