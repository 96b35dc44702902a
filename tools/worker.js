// Browsers start no workers on pages that are opened as files, so the search runs in a hidden frame instead.
if (location.protocol === "file:") {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.onmessage = null;
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const scope = (this.scope = frame.contentWindow);
      const load = (each) =>
        new Promise((done, failed) => {
          const script = scope.document.createElement("script");
          Object.assign(script, { src: new URL(each, document.baseURI).href, onload: done, onerror: failed });
          scope.document.body.append(script);
        });
      scope.IFrameWorker = window.IFrameWorker;
      scope.importScripts = (...urls) => urls.reduce((before, each) => before.then(() => load(each)), Promise.resolve());
      scope.postMessage = (data) => {
        const event = new MessageEvent("message", { data });
        this.dispatchEvent(event);
        if (this.onmessage) this.onmessage(event);
      };
      this.ready = load(url);
    }
    postMessage(data) {
      this.ready.then(() => this.scope.dispatchEvent(new MessageEvent("message", { data })));
    }
    terminate() {}
  };
}
