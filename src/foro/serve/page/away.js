// Take it away: the model, its ONNX file and its report as files, and another model merged into it.
import { download, merge, newKey } from "./api.js";
import { $, notice, save } from "./dom.js";
import { refresh } from "./knowledge.js";
import { count, t } from "./language.js";

const FILES = { model: "foro", onnx: "onnx", report: "html" };

export function startAway() {
  for (const [what, ending] of Object.entries(FILES)) {
    const button = $(`#away-${what}`);
    button.addEventListener("click", () =>
      busy(button, async () => save(await download(what), `${$("#model").textContent.replace(/\.foro$/, "") || "model"}.${ending}`)),
    );
  }
  const [button, file] = [$("#away-merge"), $("#merge-file")];
  button.addEventListener("click", () => file.click());
  file.addEventListener("change", () =>
    busy(button, async () => {
      const chosen = file.files[0];
      const { added } = await merge(chosen, newKey());
      file.value = "";
      notice(t("Merged {name}: {pictures} more.", { name: chosen.name, pictures: count(added, "picture") }));
      await refresh();
    }),
  );
}

/** Does something that takes a while, once at a time, and says what went wrong. */
async function busy(button, work) {
  button.disabled = true;
  button.ariaBusy = "true";
  try {
    await work();
  } catch (error) {
    notice(error.message);
  }
  button.disabled = false;
  button.ariaBusy = "false";
}
