// Phones let only a service worker show notifications. It does nothing else: it sees no requests and keeps nothing.

self.addEventListener("notificationclick", (event) => {
  const show = async () => {
    const [page] = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
    page?.postMessage({ show: event.notification.data });
    await page?.focus();
  };
  event.notification.close();
  event.waitUntil(show());
});
