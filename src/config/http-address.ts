// An address that the gateway calls for an operator or a tenant, in the configuration file and the admin API.
import { z } from "zod";

/** An address with a user name would show a password in the log. */
export const httpAddress = z
  .string()
  .max(2000)
  .refine(isHttpAddress, "expected an http or https address without user name");

function isHttpAddress(text: string): boolean {
  if (!/^https?:\/\/[^\s\\#]+$/i.test(text) || !URL.canParse(text)) return false;
  const { username, password } = new URL(text);
  return username === "" && password === "" && !text.includes("@");
}
