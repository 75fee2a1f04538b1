// The schemas of the sections that concern the gateway as a server: `server`, `log`, `cors`, `ops`. In the file
// durations are seconds (`_s`) and sizes bytes; the parsed values have the names and units of core/snapshot.ts.
// docs/configuration.md and dragoman.schema.json show the descriptions.
import { z } from "zod";
import { LEAST_BODY_BOUNDS } from "../core/request/body-bounds.ts";
import type { ServerLimits } from "../core/snapshot.ts";
import { SECRET_HEADER_OF_CLIENT } from "../core/text/secret-names.ts";
import { headerName } from "./sent-headers.ts";
import { sectionSettings, type SectionSettings } from "./section-settings.ts";
import { MAX_WORKERS } from "./worker-count.ts";
import { compileIpRanges, isIpRange } from "../wire/ip-range.ts";

const DEFAULT_PORT = 4100;
const DEFAULT_HOST = "127.0.0.1";
const DEFAULT_DATA_FOLDER = "data";
export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];
const PROXY_HEADERS = ["x-forwarded-for", "forwarded"] as const;
const STALE_SNAPSHOT = ["serve", "refuse"] as const;
/** The ports of one address, of which a call needs at least one. */
const MAX_CONCURRENT_CALLS = 65_535;
const MAX_LIVE_TOKENS = 100_000;
const MIB = 1024 * 1024;
const MAX_HELD_BYTES = 1024 * 1024 * MIB;

/** The limits of the server as they are configured. */
export interface ServerLimitSettings extends Omit<ServerLimits, "maxHeldBytes"> {
  /** `null` where it is a share of the memory, which depends on how many processes serve. */
  readonly maxHeldBytes: number | null;
}

const seconds = (fallback: number, max: number, description: string) =>
  z.number().gt(0).max(max).default(fallback).meta({ title: "Seconds", description });
const bytes = (fallback: number, min: number, max: number, description: string) =>
  z.int().min(min).max(max).default(fallback).meta({ title: "Bytes", description });

/**
 * A bound of a request's body. It can only be raised: below the default it would reject requests that every gateway
 * accepts.
 */
const bound = (least: number, max: number, description: string) =>
  z
    .int()
    .min(least)
    .max(max)
    .default(least)
    .meta({
      title: "Bound",
      description: `${description} A request with more is answered with 400. If the bound is raised, requests that use it can delay the calls of all callers.`,
    });

/** A host name or address without scheme, port or brackets. */
export const HOST = /^[A-Za-z0-9.:_-]{1,253}$/;

function isProxyUrl(text: string): boolean {
  return /^https?:\/\/[^\s/]+\/?$/i.test(text) && URL.canParse(text);
}

export function isDatabaseUrl(text: string): boolean {
  return /^postgres(ql)?:\/\/[^\s/]/i.test(text) && URL.canParse(text);
}

/** The address, the data folder, the database and the proxy: read once, at the start. */
const PLACE = {
  host: z
    .string()
    .regex(HOST, "expected a host name or an address, without scheme and port")
    .default(DEFAULT_HOST)
    .meta({
      title: "Host",
      description:
        "Address to listen on. The default is reachable only from this machine; `0.0.0.0` or `::` listens on all interfaces, which a container needs.",
      variable: "DRAGOMAN_HOST",
      flag: "--host",
    }),
  port: z.int().min(0).max(65_535).default(DEFAULT_PORT).meta({
    title: "Port",
    description: "Port to listen on; 0 selects a free port.",
    variable: "PORT",
    flag: "--port",
  }),
  workers: z
    .union([z.int().min(1).max(MAX_WORKERS), z.literal("auto")])
    .default(1)
    .meta({
      title: "Workers",
      description:
        "Number of processes that serve calls on the same address; `auto` starts one for each core that the gateway may use, as far as its memory has room for them. Limits are exact over all of them. More than 1 needs Linux. A change needs a restart.",
      variable: "DRAGOMAN_WORKERS",
      flag: "--workers",
    }),
  data: z.string().min(1).max(4096).default(DEFAULT_DATA_FOLDER).meta({
    title: "Data folder",
    description:
      "Folder of everything that the gateway writes: the ledger, the counts of limits and, with SQLite, the database and the master key. A relative path starts at the working directory.",
    variable: "DRAGOMAN_DATA",
    flag: "--data",
  }),
  database_url: z
    .string()
    .refine(isDatabaseUrl, 'expected an address such as "postgresql://user:password@host:5432/dragoman"')
    .optional()
    .meta({
      title: "Database",
      description:
        'Address of a PostgreSQL database, which several gateways can share; best as `"${file:/run/secrets/database_url}"`, because it contains a password. It needs a master key: `DRAGOMAN_MASTER_KEY`. The default is SQLite in the data folder.',
      variable: "DATABASE_URL",
    }),
  upstream_proxy: z
    .string()
    .refine(isProxyUrl, 'expected an http or https address such as "http://proxy.internal:3128"')
    .optional()
    .meta({
      title: "Proxy",
      description:
        "HTTP proxy for calls to providers, token services, tool servers, webhooks and issuers of logins, with user name and password if it needs them, as in `http://user:password@proxy.internal:3128`. Hosts in the variable `NO_PROXY` are called directly. A change needs a restart. By default all are called directly, and of the proxy variables in the environment only `NO_PROXY` is read.",
    }),
};

/** The address of PostgreSQL contains a password; it is `null` for SQLite in the data folder. */
export type PlaceSettings = SectionSettings<typeof PLACE>;

const LIMITS = {
  max_body_bytes: bytes(32 * MIB, 1024, 1024 * MIB, "Largest body of a request; a larger one is answered with 413."),
  max_body_values: bound(
    LEAST_BODY_BOUNDS.maxValues,
    10_000_000,
    "Maximum number of JSON values in a request: strings, numbers, literals, arrays and objects together.",
  ),
  max_body_levels: bound(LEAST_BODY_BOUNDS.maxLevels, 512, "Deepest nesting of arrays and objects in a request."),
  max_messages: bound(LEAST_BODY_BOUNDS.maxMessages, 1_000_000, "Maximum number of messages in a request."),
  max_tools: bound(LEAST_BODY_BOUNDS.maxTools, 1_000_000, "Maximum number of tools in a request."),
  max_items: bound(
    LEAST_BODY_BOUNDS.maxItems,
    1_000_000,
    "Maximum number of items of any other list in a request, such as the parts of a message, and of members of any object.",
  ),
  max_name_characters: bound(
    LEAST_BODY_BOUNDS.maxNameCharacters,
    65_536,
    "Longest name of a field, a model, a route and so on, in characters.",
  ),
  max_number_digits: bound(LEAST_BODY_BOUNDS.maxNumberDigits, 65_536, "Maximum number of digits of a number."),
  body_timeout_s: seconds(60, 3600, "Time within which the body of a request must arrive after its head."),
  max_concurrent_calls: z
    .int()
    .min(1)
    .max(MAX_CONCURRENT_CALLS)
    .default(10_000)
    .meta({ title: "Calls", description: "Maximum number of calls in flight; further calls are answered with 503." }),
  max_concurrent_calls_per_tenant: z.int().min(1).max(MAX_CONCURRENT_CALLS).optional().meta({
    title: "Calls of a tenant",
    description:
      "Maximum number of calls in flight of one tenant; further calls are answered with 503. The default is four fifths of `max_concurrent_calls` if there are several tenants, so that one tenant cannot block all others.",
  }),
  max_live_tokens: z.int().min(1).max(MAX_LIVE_TOKENS).default(1000).meta({
    title: "Tokens",
    description:
      "Maximum number of live access tokens of one project, and of one user; a request of the admin API for another one is answered with 409. Every process holds all tokens in memory, about 1.5 KB for each.",
  }),
  max_held_bytes: z.int().min(MIB).max(MAX_HELD_BYTES).optional().meta({
    title: "Bytes of arriving bodies",
    description:
      "Maximum number of bytes that bodies of requests of 64 KiB and more hold together in one process while they arrive, content that the gateway fetches for a request until the provider answers, answers while they are collected, what is kept of streams for their last events, what rounds of tools add to a conversation, and the events of calls in the background until what they make is kept; one tenant may hold half of it. A call beyond it is answered with 503. The default is a quarter of the memory of the machine or container, shared by `workers`.",
  }),
  max_answer_bytes: bytes(
    64 * MIB,
    1024,
    1024 * MIB,
    "Largest non-streaming answer of a provider, after decompression.",
  ),
  max_event_bytes: bytes(16 * MIB, 1024, 256 * MIB, "Largest single event of a provider's stream."),
  default_timeout_s: seconds(
    600,
    86_400,
    "Time limit of a whole call, including retries, if the request sets no `timeout`.",
  ),
  connect_timeout_s: seconds(10, 600, "Time limit for connecting to a provider."),
  first_byte_timeout_s: seconds(
    600,
    86_400,
    "Time limit from sending the request to the provider's response headers. Reasoning models may be silent for minutes.",
  ),
  between_bytes_timeout_s: seconds(300, 86_400, "Longest pause within a provider's answer."),
  head_hold_s: seconds(
    10,
    10,
    "How long the response headers of a stream wait for the first content, so that an early failure still gets its own HTTP status.",
  ),
  keep_alive_s: seconds(
    15,
    60,
    "How often a comment, or the event `ping` of Messages or `response.in_progress` of Responses, is sent on a silent stream.",
  ),
  drain_s: seconds(
    30,
    3600,
    "How long calls in flight may run when the gateway shuts down; the remaining calls end with the error `shutting_down`.",
  ),
};

export const serverSection = z
  .strictObject({
    ...PLACE,
    ...LIMITS,
    trusted_proxies: z
      .array(z.string().refine(isIpRange, 'expected an address or a range such as "10.0.0.0/8" or "2001:db8::/32"'))
      .max(1000)
      .default([])
      .meta({
        title: "Trusted proxies",
        description:
          "Addresses and ranges of the proxies in front of the gateway. For connections from them, the client's address is the last address in `proxy_header` that is not one of them; from other addresses the header is ignored. If empty, the address of the connection is used.",
      }),
    proxy_header: z.enum(PROXY_HEADERS).default("x-forwarded-for").meta({
      title: "Proxy header",
      description:
        "The header to which all `trusted_proxies` append the address of their client. Only this header is read, because proxies may pass on others as the client sent them.",
    }),
    condition_headers: z
      .array(
        headerName.refine(
          (name) => !SECRET_HEADER_OF_CLIENT.test(name),
          "this header may contain a secret, which conditions cannot read",
        ),
      )
      .max(100)
      .default([])
      .meta({
        title: "Headers in conditions",
        description:
          "Names of headers of clients' requests that `when` of targets and fallbacks can read as `headers`, such as `x-tier`; see [routes.md](routes.md#conditions). By default none.",
      }),
    stale_snapshot: z.enum(STALE_SNAPSHOT).default("serve").meta({
      title: "Stale snapshot",
      description:
        "What to do if the database has not been reached for 60 s, so that a revocation of a token may be missed: `serve` continues with the last known configuration and logs a warning every minute; `refuse` answers new calls with 503 `stale_snapshot` until the database is back.",
    }),
  })
  .transform((file) => {
    const {
      maxBodyValues: maxValues,
      maxBodyLevels: maxLevels,
      maxMessages,
      maxTools,
      maxItems,
      maxNameCharacters,
      maxNumberDigits,
      ...limits
    } = sectionSettings(LIMITS, file);
    return {
      ...sectionSettings(PLACE, file),
      staleSnapshot: file.stale_snapshot,
      conditionHeaders: [...new Set(file.condition_headers.map((name) => name.toLowerCase()))],
      proxyTrust:
        file.trusted_proxies.length === 0
          ? null
          : { proxies: compileIpRanges(file.trusted_proxies), header: file.proxy_header },
      limits: {
        ...limits,
        body: { maxValues, maxLevels, maxMessages, maxTools, maxItems, maxNameCharacters, maxNumberDigits },
        maxHeldBytes: limits.maxHeldBytes ?? null,
      } satisfies ServerLimitSettings,
    };
  })
  .prefault({})
  .meta({
    title: "Server",
    description:
      "Where the gateway listens, and its limits. Changes of `host`, `port`, `workers`, `data`, `database_url` and `upstream_proxy` need a restart; all others take effect when the file is saved.",
  });

export const logSection = z
  .strictObject({
    level: z.enum(LOG_LEVELS).default("info").meta({
      title: "Level",
      description: "Lowest level that is logged. A change needs a restart.",
      variable: "DRAGOMAN_LOG_LEVEL",
    }),
  })
  .prefault({})
  .meta({ title: "Log", description: "The log, with one JSON object per line." });

const isOrigin = (text: string): boolean => text === "*" || (URL.canParse(text) && new URL(text).origin === text);

export const corsSection = z
  .strictObject({
    origins: z
      .array(
        z
          .string()
          .refine(
            isOrigin,
            'expected an origin such as "https://chat.example.com", in lower case and without a path, or "*"',
          ),
      )
      .max(1000)
      .default([])
      .meta({
        title: "Origins",
        description: 'Origins of web pages that may call the gateway from a browser; `"*"` for all, empty for none.',
      }),
  })
  .prefault({})
  .meta({ title: "CORS", description: "Calls from web pages of other origins." });

export const opsSection = z
  .strictObject({
    open: z.boolean().default(false).meta({
      title: "Open",
      description:
        "Whether `/metrics` and `/readyz?verbose` are open to all clients. Otherwise only programs on this machine, operators, and tokens with the permission `ops` have access.",
    }),
  })
  .prefault({})
  .meta({ title: "Operations", description: "The endpoints for monitoring." });

/** Ids of tenants and projects. */
export const SCOPE_ID = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;
