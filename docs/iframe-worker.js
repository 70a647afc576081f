// Search without a server: a browser starts no worker for a page from a folder, so the worker's script runs in a hidden frame.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.inside = new Promise((ready, failed) => {
        this.frame.onload = () => {
          const inside = this.frame.contentWindow;
          const script = inside.document.createElement("script");
          inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
          script.onload = () => ready(inside);
          script.onerror = failed;
          script.src = address;
          inside.document.head.append(script);
        };
      });
      document.body.append(this.frame);
    }

    postMessage(data) {
      this.inside.then((inside) => inside.dispatchEvent(new inside.MessageEvent("message", { data })));
    }
  };
}
