// Addresses in place of those that an import cannot take over, and who answers at one.
import type { ProviderFamily } from "../providers/settings.ts";

/** A placeholder URL. Its domain never resolves, because RFC 2606 reserves it. */
export function placeholderUrl(name: string): string {
  const host = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-+|-+$/g, "")
    .slice(0, 60);
  return `https://${host === "" ? "unknown" : host}.invalid`;
}

/** Whether it is OpenAI itself that answers at the address, such as in one of its regions. */
export function isOpenAiAddress(address: string): boolean {
  return URL.canParse(address) && /(?:^|\.)api\.openai\.com$/.test(new URL(address).hostname);
}

/** Whether it is the provider itself that answers at the address. */
export function isAddressOf({ baseUrl }: ProviderFamily, address: string): boolean {
  return (
    baseUrl !== null &&
    URL.canParse(baseUrl) &&
    URL.canParse(address) &&
    new URL(address).origin === new URL(baseUrl).origin
  );
}
