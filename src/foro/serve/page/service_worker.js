// Keeps the page's own files, so that it opens at once and installs as an app. What the service says is never kept.
const CACHE = "foro-page";

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const { pathname, origin } = new URL(request.url);
  const base = new URL(self.registration.scope).pathname;
  if (request.method !== "GET" || origin !== location.origin) return;
  if (pathname === base || pathname.startsWith(`${base}static/`)) event.respondWith(fresh(request));
});

/** The file as the service has it now, or as it was last seen if the service does not answer. */
async function fresh(request) {
  const cache = await caches.open(CACHE);
  try {
    const response = await fetch(request);
    if (response.ok) await cache.put(request, response.clone());
    return response;
  } catch (error) {
    const kept = await cache.match(request, { ignoreSearch: true });
    if (kept) return kept;
    throw error;
  }
}
