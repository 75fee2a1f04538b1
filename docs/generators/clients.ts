// The table of what the gateway does for named clients, for docs/clients/README.md.
import { CLIENT_DEVIATION_NAMES, CLIENT_DEVIATIONS } from "../../src/core/configured/client-deviations.ts";
import { code, table } from "./markdown.ts";

export function clientDeviations(): string {
  return table(
    ["name", "client", "it sends", "the gateway", "switched off"],
    CLIENT_DEVIATION_NAMES.map((name) => {
      const { client, sends, gateway, otherwise, source } = CLIENT_DEVIATIONS[name];
      return [code(name), `[${client}](${source})`, sends, gateway, otherwise];
    }),
  );
}
