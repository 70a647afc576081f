// The camera of a panel. What is seen in the square is what is sent.
import { $ } from "./dom.js";

const SIDE = 640; // pixels of a frame at most

const TROUBLES = {
  NotAllowedError: "The camera is blocked for this page. The browser's address bar can allow it.",
  NotFoundError: "No camera was found.",
  NotReadableError: "The camera is in use elsewhere.",
};

export class Camera {
  #panel;
  #video;
  #stream = null;
  #changed;

  /** `changed` is called with true when the camera starts and with false when it stops. */
  constructor(panel, changed) {
    this.#panel = panel;
    this.#video = $("video", panel);
    this.#changed = changed;
    $(".camera-toggle", panel).addEventListener("click", () => (this.on ? this.stop() : this.start()));
    $(".camera-other", panel).addEventListener("click", () => this.#other());
    if (!navigator.mediaDevices) {
      $(".camera-toggle", panel).disabled = true;
      this.#hint("The camera needs https, or a page on this very computer.");
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
      this.#hint(TROUBLES[error.name] ?? "The camera cannot be used.");
      return;
    }
    this.#end();
    this.#hint("");
    this.#stream = stream;
    this.#video.srcObject = stream;
    const [track] = stream.getVideoTracks();
    track.addEventListener("ended", () => this.stop());
    // A screen that faces its user is a mirror; only the preview is turned.
    this.#video.classList.toggle("mirror", track.getSettings().facingMode !== "environment");
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

  /** The square in the middle of what the camera sees now, as a file. */
  async frame() {
    const { videoWidth: width, videoHeight: height } = this.#video;
    const square = Math.min(width, height);
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = Math.min(square, SIDE);
    const [left, top] = [(width - square) / 2, (height - square) / 2];
    canvas.getContext("2d").drawImage(this.#video, left, top, square, square, 0, 0, canvas.width, canvas.height);
    const blob = await new Promise((resolve) => canvas.toBlob(resolve, "image/jpeg", 0.92));
    return new File([blob], "camera.jpg", { type: "image/jpeg" });
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
    $(".camera-toggle", this.#panel).textContent = on ? "Stop the camera" : "Use the camera";
  }

  #hint(text) {
    const hint = $(".camera-hint", this.#panel);
    hint.textContent = text;
    hint.hidden = !text;
  }
}
