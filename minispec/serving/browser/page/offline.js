/** Keeps the page's files, so that it works without a network from its second load on. Its own first line names them all. */

/* global FILES, VERSION */
const PREFIX = "minispec-page-";
const NAME = `${PREFIX}${VERSION}-${self.registration.scope}`;

self.addEventListener("install", (event) => {
  event.waitUntil(caches.open(NAME).then((cache) => cache.addAll(FILES.map((file) => new Request(file, { cache: "reload" })))).then(() => self.skipWaiting()));
});

self.addEventListener("activate", (event) => {
  const isOld = (name) => name.startsWith(PREFIX) && name.endsWith(self.registration.scope) && name !== NAME;
  event.waitUntil(caches.keys().then((names) => Promise.all(names.filter(isOld).map((name) => caches.delete(name)))).then(() => self.clients.claim()));
});

self.addEventListener("fetch", (event) => {
  if (event.request.method !== "GET" || event.request.url.includes("/weights/")) return; // these are kept elsewhere
  event.respondWith(caches.open(NAME).then(async (cache) => (await cache.match(event.request, { ignoreSearch: true })) ?? fetch(event.request)));
});
