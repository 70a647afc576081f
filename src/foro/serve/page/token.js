// The token that the service may ask for. It lives in this tab only.
import { $ } from "./dom.js";

const KEY = "foro-token";
let asking = null;

export const token = () => sessionStorage.getItem(KEY);

/** Asks for a token, once for all that wait for it; false if there is none to be had. */
export function askForToken(reason) {
  asking ??= ask(reason).finally(() => (asking = null));
  return asking;
}

function ask(reason) {
  const dialog = $("#token-dialog");
  const field = $("#token");
  $("#token-reason").textContent = reason;
  field.value = "";
  dialog.returnValue = "";
  dialog.showModal();
  field.focus();
  return new Promise((resolve) => {
    $("form", dialog).onsubmit = (event) => {
      event.preventDefault();
      if (field.value.trim()) dialog.close(field.value.trim());
    };
    $("#token-cancel").onclick = () => dialog.close("");
    dialog.onclose = () => {
      if (dialog.returnValue) sessionStorage.setItem(KEY, dialog.returnValue);
      field.value = "";
      $("#change-token").hidden = !token();
      resolve(Boolean(dialog.returnValue));
    };
  });
}
