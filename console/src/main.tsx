// Starts the console: the React providers around the page, and the page that an unexpected error shows.
import { QueryClientProvider } from "@tanstack/react-query";
import { createRoot } from "react-dom/client";
import { Router } from "wouter";
import { createQueryClient } from "./api/use-api.tsx";
import { CONSOLE_PATH } from "./console-path.ts";
import { keepFocus } from "./keyboard/keep-focus.ts";
import { KeysProvider } from "./keyboard/keys.tsx";
import { PreferencesProvider } from "./preferences-context.tsx";
import { SessionGate } from "./session/session.tsx";
import { Broken } from "./shell/broken.tsx";
import { Shell } from "./shell/shell.tsx";

function start(): void {
  const place = document.querySelector("#console")!;
  const root = createRoot(place, {
    onUncaughtError(error) {
      console.error(error);
      // React cannot take a page away while it draws it
      setTimeout(() => {
        root.unmount();
        createRoot(place).render(<Broken error={error} />);
      });
    },
  });
  const queries = createQueryClient();
  keepFocus();
  root.render(
    <QueryClientProvider client={queries}>
      <PreferencesProvider>
        <KeysProvider>
          <Router base={CONSOLE_PATH}>
            <SessionGate>
              <Shell />
            </SessionGate>
          </Router>
        </KeysProvider>
      </PreferencesProvider>
    </QueryClientProvider>,
  );
}

start();
