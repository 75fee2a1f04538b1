// Says that the browser has no network, so that what is shown may be old.
import { useSyncExternalStore } from "react";

function follow(changed: () => void): () => void {
  globalThis.addEventListener("online", changed);
  globalThis.addEventListener("offline", changed);
  return () => {
    globalThis.removeEventListener("online", changed);
    globalThis.removeEventListener("offline", changed);
  };
}

export function OfflineBanner() {
  const isOnline = useSyncExternalStore(follow, () => navigator.onLine);
  return (
    <div role="status">
      {!isOnline && (
        <p className="banner">
          This computer is offline. What is shown was read before, and is read again when the network is back.
        </p>
      )}
    </div>
  );
}
