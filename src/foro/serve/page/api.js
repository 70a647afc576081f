// What the page says to the service.
import { notice, sentence } from "./dom.js";
import { t } from "./language.js";
import { askForToken, token } from "./token.js";

const TRIES = { unreachable: 3, busy: 6 };

/** Problems of a request that has too much in it; its parts may be taken. */
export const TOO_MUCH = ["too-large", "too-many-images", "too-many-pixels"];

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
export const review = () => call("v1/review");
export const thumbnails = (label) => call(`v1/thumbnails/${encodeURIComponent(label)}`, { ask: false });
export const forget = (label) => call(classPath(label), { method: "DELETE" });
export const restore = (label) => call(`${classPath(label)}/restore`, { method: "POST" });
export const predict = (files, top, signal) =>
  call(`v1/predict?top=${top}`, { method: "POST", body: form(files), signal });

export const undo = () => call("v1/undo", { method: "POST", headers: { "Idempotency-Key": newKey() } });
export const rename = (label, to) => call(`${classPath(label)}/rename?to=${encodeURIComponent(to)}`, { method: "POST" });

/** Learns pictures; said twice with the same key, they are learned once. `corrects`: whatever they were learned as before. */
export const learn = (label, files, key, corrects = false) =>
  call(`v1/learn${corrects ? "?relabel=true" : ""}`, { method: "POST", body: form(files, { label }), headers: { "Idempotency-Key": key } });

/** Takes pictures back that were learned. */
export const unlearn = (label, files, key) =>
  call("v1/unlearn", { method: "POST", body: form(files, { label }), headers: { "Idempotency-Key": key } });

/** Adds what another model file has learned. */
export function merge(file, key) {
  const body = new FormData();
  body.append("model", file, file.name);
  return call("v1/merge", { method: "POST", body, headers: { "Idempotency-Key": key } });
}

/** A file of the service: "model", "onnx" or "report". */
export const download = (what) => call(`v1/${what}`, { read: (response) => response.blob() });

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
async function call(path, { headers, signal, ask = true, read = (response) => response.json(), ...options } = {}) {
  for (let tries = 1; ; tries++) {
    const used = token();
    const authorization = used ? { Authorization: `Bearer ${used}` } : {};
    let response;
    try {
      response = await fetch(path, { ...options, signal, cache: "no-store", headers: { ...headers, ...authorization } });
    } catch (error) {
      if (signal?.aborted) throw error;
      if (tries >= TRIES.unreachable) throw new Problem(t("The service does not answer. Is it still running?"));
      await pause(tries / 2);
      continue;
    }
    if (response.ok) return read(response);
    if (response.status === 401 || (response.status === 403 && used)) {
      if (used !== token() || (ask && (await askForToken(reason(response.status, used))))) continue;
      throw new Problem(response.status === 401 ? t("A token is needed.") : t("A token that may teach is needed."));
    }
    const retry = Number(response.headers.get("Retry-After"));
    if ((response.status === 429 || response.status === 503) && tries < TRIES.busy) {
      const seconds = Math.min(Math.max(retry || 1, 1), 60);
      if (seconds > 1) notice(t("The service is busy. Trying again in {seconds} seconds.", { seconds }));
      await pause(seconds);
      signal?.throwIfAborted();
      continue;
    }
    const problem = await response.json().catch(() => ({}));
    throw new Problem(sentence(problem.detail ?? t("the service answered {status}", { status: response.status })), problem);
  }
}

function reason(status, used) {
  if (status === 403) return t("The token of this tab may try, but not teach or forget. A token that may do so is needed.");
  return used ? t("That token was not accepted. Perhaps a letter is missing?") : t("This service is private. Ask the person who runs it for a token.");
}

const pause = (seconds) => new Promise((resolve) => setTimeout(resolve, 1000 * seconds));
