// The camera of a panel. What is seen in the square is what is sent: closer, or a part of it, as the reader chooses.
import { $ } from "./dom.js";
import { t } from "./language.js";

const SIDE = 640; // pixels of a frame at most
const STEP = 0.05; // of the square, for an arrow key
const MOVES = { ArrowLeft: [-STEP, 0], ArrowRight: [STEP, 0], ArrowUp: [0, -STEP], ArrowDown: [0, STEP] };

const TROUBLES = {
  NotAllowedError: t("The camera is blocked for this page. The browser's address bar can allow it."),
  NotFoundError: t("No camera was found."),
  NotReadableError: t("The camera is in use elsewhere."),
};

export class Camera {
  #panel;
  #video;
  #stream = null;
  #changed;
  #mirror = false;
  #region = { zoom: 1, x: 0, y: 0 }; // how much closer, and how far from the middle, in sides of the square

  /** `changed` is called with true when the camera starts and with false when it stops. */
  constructor(panel, changed) {
    this.#panel = panel;
    this.#video = $("video", panel);
    this.#changed = changed;
    $(".camera-toggle", panel).addEventListener("click", () => (this.on ? this.stop() : this.start()));
    $(".camera-other", panel).addEventListener("click", () => this.#other());
    $(".zoom", panel).addEventListener("input", ({ target }) => this.#look(Number(target.value), 0, 0));
    this.#video.addEventListener("pointerdown", (event) => this.#video.setPointerCapture(event.pointerId));
    this.#video.addEventListener("pointermove", (event) => {
      if (!this.#video.hasPointerCapture(event.pointerId)) return;
      const side = this.#video.clientWidth * this.#region.zoom;
      this.#look(this.#region.zoom, -event.movementX / side, -event.movementY / side);
    });
    this.#video.addEventListener("keydown", (event) => {
      if (!MOVES[event.key]) return;
      event.preventDefault();
      this.#look(this.#region.zoom, ...MOVES[event.key]);
    });
    if (!navigator.mediaDevices) {
      $(".camera-toggle", panel).disabled = true;
      this.#hint(t("The camera needs https, or a page on this very computer."));
    }
  }

  get on() {
    return this.#stream !== null;
  }

  async start(which = { facingMode: "environment" }) {
    let stream;
    try {
      stream = await navigator.mediaDevices.getUserMedia({ video: { ...which, width: { ideal: 1280 }, height: { ideal: 720 } } });
    } catch (error) {
      this.#hint(TROUBLES[error.name] ?? t("The camera cannot be used."));
      return;
    }
    this.#end();
    this.#hint("");
    this.#stream = stream;
    this.#video.srcObject = stream;
    const [track] = stream.getVideoTracks();
    track.addEventListener("ended", () => this.stop());
    // A screen that faces its user is a mirror; only the preview is turned.
    this.#mirror = track.getSettings().facingMode !== "environment";
    this.#region = { zoom: 1, x: 0, y: 0 };
    $(".zoom", this.#panel).value = 1;
    this.#look(1, 0, 0);
    await this.#video.play();
    this.#show(true);
    const cameras = await this.#cameras();
    $(".camera-other", this.#panel).hidden = cameras.length < 2;
    this.#changed(true);
  }

  stop() {
    if (!this.on) return;
    this.#end();
    this.#show(false);
    $(".camera-other", this.#panel).hidden = true;
    this.#changed(false);
  }

  /** The square that is seen now, as a file; at most so many pixels wide. */
  async frame(most = SIDE) {
    const { videoWidth: width, videoHeight: height } = this.#video;
    const { zoom, x, y } = this.#region;
    const whole = Math.min(width, height);
    const side = whole / zoom;
    const [left, top] = [width / 2 + x * whole - side / 2, height / 2 + y * whole - side / 2];
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = Math.min(Math.round(side), most);
    canvas.getContext("2d").drawImage(this.#video, left, top, side, side, 0, 0, canvas.width, canvas.height);
    const blob = await new Promise((resolve) => canvas.toBlob(resolve, "image/jpeg", 0.92));
    return new File([blob], "camera.jpg", { type: "image/jpeg" });
  }

  /** Looks closer, and at another part: the square moves by a share of its side. */
  #look(zoom, right, down) {
    const most = (1 - 1 / zoom) / 2;
    const within = (place) => Math.min(most, Math.max(-most, place));
    const { x, y } = this.#region;
    this.#region = { zoom, x: within(x + (this.#mirror ? -right : right)), y: within(y + down) };
    const move = `scale(${zoom}) translate(${-100 * this.#region.x}%, ${-100 * this.#region.y}%)`;
    this.#video.style.transform = this.#mirror ? `scaleX(-1) ${move}` : move;
    this.#video.tabIndex = zoom > 1 ? 0 : -1;
  }

  async #other() {
    const cameras = await this.#cameras();
    const now = this.#stream.getVideoTracks()[0].getSettings().deviceId;
    const next = cameras[(cameras.findIndex((each) => each.deviceId === now) + 1) % cameras.length];
    await this.start({ deviceId: { exact: next.deviceId } });
  }

  async #cameras() {
    return (await navigator.mediaDevices.enumerateDevices()).filter((each) => each.kind === "videoinput");
  }

  #end() {
    for (const track of this.#stream?.getTracks() ?? []) track.stop();
    this.#stream = null;
    this.#video.srcObject = null;
  }

  #show(on) {
    $(".camera", this.#panel).hidden = !on;
    $(".zone", this.#panel).hidden = on;
    $(".camera-tools", this.#panel).hidden = !on;
    $(".camera-toggle", this.#panel).textContent = on ? t("Stop the camera") : t("Use the camera");
  }

  #hint(text) {
    const hint = $(".camera-hint", this.#panel);
    hint.textContent = text;
    hint.hidden = !text;
  }
}
