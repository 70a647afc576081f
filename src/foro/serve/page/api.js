// What the page says to the service.
import { notice, sentence } from "./dom.js";
import { askForToken, token } from "./token.js";

const TRIES = { unreachable: 3, busy: 6 };

/** Why the service did not do something, in one sentence. */
export class Problem extends Error {
  constructor(text, { type = "", skipped = null } = {}) {
    super(text);
    this.kind = type.split(":").at(-1); // the name that the service gives it
    this.skipped = skipped; // pictures that it could not use, if it is about these
  }
}

export const health = () => call("healthz");
export const classes = () => call("v1/classes");
export const forget = (label) => call(classPath(label), { method: "DELETE" });
export const restore = (label) => call(`${classPath(label)}/restore`, { method: "POST" });
export const predict = (files, top, signal) =>
  call(`v1/predict?top=${top}`, { method: "POST", body: form(files), signal });

/** Learns pictures; said twice with the same key, they are learned once. */
export const learn = (label, files, key) =>
  call("v1/learn", { method: "POST", body: form(files, { label }), headers: { "Idempotency-Key": key } });

/** A new idempotency key; randomUUID would need https. */
export const newKey = () => Array.from(crypto.getRandomValues(new Uint32Array(4)), (word) => word.toString(16)).join("-");

const classPath = (label) => `v1/classes/${encodeURIComponent(label)}`;

function form(files, fields = {}) {
  const body = new FormData();
  for (const [name, value] of Object.entries(fields)) body.append(name, value);
  for (const file of files) body.append("images", file, file.name);
  return body;
}

/** One answer of the service: asks for a token if one is needed, waits if it is busy. */
async function call(path, { headers, signal, ...options } = {}) {
  for (let tries = 1; ; tries++) {
    const used = token();
    const authorization = used ? { Authorization: `Bearer ${used}` } : {};
    let response;
    try {
      response = await fetch(path, { ...options, signal, cache: "no-store", headers: { ...headers, ...authorization } });
    } catch (error) {
      if (signal?.aborted) throw error;
      if (tries >= TRIES.unreachable) throw new Problem("The service does not answer. Is it still running?");
      await pause(tries / 2);
      continue;
    }
    if (response.ok) return response.status === 204 ? null : response.json();
    if (response.status === 401 || (response.status === 403 && used)) {
      if (used !== token() || (await askForToken(reason(response.status, used)))) continue;
      throw new Problem(response.status === 401 ? "A token is needed." : "A token that may teach is needed.");
    }
    const retry = Number(response.headers.get("Retry-After"));
    if ((response.status === 429 || response.status === 503) && tries < TRIES.busy) {
      const seconds = Math.min(Math.max(retry || 1, 1), 60);
      if (seconds > 1) notice(`The service is busy. Trying again in ${seconds} seconds.`);
      await pause(seconds);
      signal?.throwIfAborted();
      continue;
    }
    const problem = await response.json().catch(() => ({}));
    throw new Problem(sentence(problem.detail ?? `the service answered ${response.status}`), problem);
  }
}

function reason(status, used) {
  if (status === 403) return "The token of this tab may try, but not teach or forget. A token that may do so is needed.";
  return used ? "That token was not accepted. Perhaps a letter is missing?" : "This service is private. Ask the person who runs it for a token.";
}

const pause = (seconds) => new Promise((resolve) => setTimeout(resolve, 1000 * seconds));
