// A button, or a list of them, that does something as long as it is held, by hand or by key.

const FORCED = 700; // milliseconds that a press counts which is neither a hand nor a key: a screen reader or a voice

/**
 * `pick(target)` names what is pressed, or is null where nothing is to be done. `start(name, held)` is called once for a
 * press; `held()` says how long it goes on.
 */
export function hold(element, { pick, start }) {
  let holding = null; // a token of the press that goes on

  function press(target, forced = false) {
    const name = holding ? null : pick(target);
    if (name === null) return;
    const mine = (holding = {});
    if (forced) setTimeout(() => holding === mine && release(), FORCED);
    start(name, () => holding === mine);
  }
  const release = () => (holding = null);

  element.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || !event.target.closest("button")) return;
    event.target.closest("button").setPointerCapture(event.pointerId);
    press(event.target);
  });
  for (const end of ["pointerup", "pointercancel", "lostpointercapture", "focusout"]) element.addEventListener(end, release);
  element.addEventListener("contextmenu", (event) => event.preventDefault()); // a long press on a phone
  element.addEventListener("keydown", (event) => {
    if (event.key !== " " && event.key !== "Enter") return;
    if (!event.repeat) press(event.target);
    if (holding) event.preventDefault(); // or a browser would make a click of it
  });
  element.addEventListener("keyup", (event) => {
    if (holding) event.preventDefault();
    release();
  });
  element.addEventListener("click", (event) => {
    if (event.detail === 0) press(event.target, true);
  });
}
