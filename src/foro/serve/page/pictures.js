// Pictures from the reader: chosen, dropped (folders, too) or pasted.
import { $, notice, touch } from "./dom.js";
import { count, t } from "./language.js";

const LARGEST = 30 * 2 ** 20; // bytes of a picture, which must fit into one request
const BATCH = { files: 16, bytes: 16 * 2 ** 20 }; // of one request

/** Makes a zone of a panel take pictures, and its button folders: a list of {file, folder} goes to `take`. */
export function takePictures(panel, zone, input, take) {
  const folders = $(".folder-files", panel);
  zone.addEventListener("click", () => input.click());
  $(".folder", panel).hidden = touch; // phones have no folders to choose
  $(".folder", panel).addEventListener("click", () => folders.click());
  for (const chosen of [input, folders]) {
    chosen.addEventListener("change", () => {
      const files = [...chosen.files].filter(isShown).sort(byPath);
      take(fit(files.map((file) => ({ file, folder: folderOf(file) }))));
      chosen.value = ""; // the same file can be chosen again
    });
  }
  document.addEventListener("paste", (event) => {
    const files = [...(event.clipboardData?.files ?? [])];
    if (panel.hidden || !files.length) return;
    event.preventDefault();
    take(fit(files.map((file) => ({ file, folder: null }))));
  });
  document.addEventListener("dragover", (event) => {
    if (!event.dataTransfer.types.includes("Files")) return;
    event.preventDefault(); // wherever it is: else the browser would leave the page to show the file
    if (!panel.hidden) panel.classList.add("dragging");
  });
  document.addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) panel.classList.remove("dragging");
  });
  document.addEventListener("drop", async (event) => {
    panel.classList.remove("dragging");
    if (!event.dataTransfer.types.includes("Files")) return;
    event.preventDefault();
    if (panel.hidden) return;
    // Entries must be taken before the event is over.
    const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry()).filter(Boolean);
    take(fit((await Promise.all(entries.map((entry) => walk(entry, null)))).flat()));
  });
}

/** Whether a file of a folder is meant: what begins with a dot is hidden, and of a folder only pictures are wanted. */
const isShown = (file) => !file.webkitRelativePath || (!file.name.startsWith(".") && file.type.startsWith("image/"));

/** Browsers list a folder in the order of its file system. */
const byPath = (one, other) => one.webkitRelativePath.localeCompare(other.webkitRelativePath);

/** The name of the folder that a file was chosen with, if any. */
const folderOf = (file) => file.webkitRelativePath?.split("/").at(-2)?.normalize("NFC") ?? null;

/** The next things of a queue whose files fit into one request, at most so many; the others stay in the queue. */
export function nextBatch(queue, fileOf = (file) => file, most = Infinity) {
  let [files, bytes] = [0, 0];
  while (files < queue.length && files < Math.min(most, BATCH.files)) {
    bytes += fileOf(queue[files]).size;
    if (files && bytes > BATCH.bytes) break;
    files++;
  }
  return queue.splice(0, files);
}

/** Shows a picture in an image element; `cannot` is called if the browser does not know its format. */
export function show(image, file, cannot) {
  if (image.src) URL.revokeObjectURL(image.src);
  image.onerror = cannot;
  image.src = URL.createObjectURL(file);
}

/** A small image of a picture; none if the browser does not know its format. */
export function thumbnail(file) {
  const image = new Image();
  image.alt = "";
  show(image, file, () => image.remove());
  return image;
}

/** Takes an element with pictures out of the page, and the pictures out of memory. */
export function discard(element) {
  for (const image of [element, ...element.querySelectorAll("img")]) if (image.src) URL.revokeObjectURL(image.src);
  element.remove();
}

/** All files of a folder and of those in it, each with the name of its own folder. */
async function walk(entry, folder) {
  if (entry.name.startsWith(".")) return [];
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
    return [{ file, folder }];
  }
  const reader = entry.createReader();
  const found = [];
  for (;;) {
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject)); // at most 100
    if (!some.length) break;
    found.push(...some);
  }
  found.sort((one, other) => one.name.localeCompare(other.name, "en", { numeric: true }));
  return (await Promise.all(found.map((each) => walk(each, entry.name.normalize("NFC"))))).flat();
}

function fit(pictures) {
  const large = pictures.filter(({ file }) => file.size > LARGEST);
  if (large.length) {
    const megabytes = LARGEST / 2 ** 20;
    notice(
      large.length === 1
        ? t("{name} is larger than {megabytes} MB and left out. A smaller copy teaches just as well.", { name: large[0].file.name, megabytes })
        : t("{pictures} are larger than {megabytes} MB and left out. Smaller copies teach just as well.", { pictures: count(large.length, "picture"), megabytes }),
    );
  }
  return pictures.filter(({ file }) => file.size <= LARGEST);
}
