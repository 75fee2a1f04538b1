// The settings that say where a Valkey or Redis is.
import { z } from "zod";

const NODE = /^(\[[0-9A-Fa-f:]+\]|[A-Za-z0-9.-]+):\d{1,5}$/;

export function isValkeyUrl(text: string): boolean {
  return /^rediss?:\/\/[^\s/]+/.test(text) && URL.canParse(text);
}

export const valkeyUrl = z
  .string()
  .refine(
    isValkeyUrl,
    'expected an address such as "redis://user:password@valkey.internal:6379/0", or rediss:// for TLS',
  );

/** Further nodes of a cluster. */
export const clusterNodes = z
  .array(z.string().regex(NODE, 'expected host and port such as "valkey-2.internal:6379"'))
  .max(100);
