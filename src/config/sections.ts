// The schemas of the sections that concern the gateway as a server: `server`, `log`, `cors`, `ops`. In the file
// durations are seconds (`_s`) and sizes bytes; the parsed values have the names and units of core/snapshot.ts.
// docs/configuration.md and dragoman.schema.json show the descriptions.
import { z } from "zod";
import { LEAST_BODY_BOUNDS } from "../core/body-bounds.ts";
import type { ServerLimits } from "../core/snapshot.ts";
import { compileIpRanges, isIpRange } from "../wire/ip-range.ts";

const DEFAULT_PORT = 4100;
const DEFAULT_HOST = "127.0.0.1";
const DEFAULT_DATA_FOLDER = "data";
export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];
const PROXY_HEADERS = ["x-forwarded-for", "forwarded"] as const;
const STALE_SNAPSHOT = ["serve", "refuse"] as const;
/** Bun's fetch allows this many concurrent requests for the whole process. */
const MAX_CONCURRENT_CALLS = 65_535;
const MIB = 1024 * 1024;

const toMs = (seconds: number): number => Math.max(1, Math.round(seconds * 1000));
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
      description: `${description} A request with more gets 400. The bound can be raised; a request that makes use of that delays the calls of all callers.`,
    });

/** A host name or address without scheme, port or brackets. */
export const HOST = /^[A-Za-z0-9.:_-]{1,253}$/;

function isProxyUrl(text: string): boolean {
  return /^https?:\/\/[^\s/]+\/?$/i.test(text) && URL.canParse(text);
}

export function isDatabaseUrl(text: string): boolean {
  return /^postgres(ql)?:\/\/[^\s/]/i.test(text) && URL.canParse(text);
}

export const serverSection = z
  .strictObject({
    host: z
      .string()
      .regex(HOST, "expected a host name or an address, without scheme and port")
      .default(DEFAULT_HOST)
      .meta({
        title: "Host",
        description:
          "Address to listen on. The default is reachable from this machine only; `0.0.0.0` or `::` listens on every interface, as a container needs it.",
        variable: "DRAGOMAN_HOST",
        flag: "--host",
      }),
    port: z
      .int()
      .min(0)
      .max(65_535)
      .default(DEFAULT_PORT)
      .meta({ title: "Port", description: "Port to listen on; 0 takes a free one.", variable: "PORT", flag: "--port" }),
    data: z.string().min(1).max(4096).default(DEFAULT_DATA_FOLDER).meta({
      title: "Data folder",
      description: "Folder of the database. A relative path starts at the working directory.",
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
          'Address of a PostgreSQL database, for several gateways on one; best as `"${file:/run/secrets/database_url}"`, because it holds a password. Not set: SQLite in the data folder. It needs a master key: `DRAGOMAN_MASTER_KEY`.',
        variable: "DATABASE_URL",
      }),
    upstream_proxy: z
      .string()
      .refine(isProxyUrl, 'expected an http or https address such as "http://proxy.internal:3128"')
      .optional()
      .meta({
        title: "Proxy",
        description:
          "HTTP proxy for every call to a provider, user name and password included where it wants them. Read at the start. Not set: providers are called directly, whatever the environment says.",
      }),
    max_body_bytes: bytes(32 * MIB, 1024, 1024 * MIB, "Largest body of a request; above it the answer is 413."),
    max_body_values: bound(
      LEAST_BODY_BOUNDS.maxValues,
      10_000_000,
      "Texts, numbers, words, arrays and objects that a request holds together.",
    ),
    max_body_levels: bound(LEAST_BODY_BOUNDS.maxLevels, 512, "Arrays and objects of a request inside one another."),
    max_messages: bound(LEAST_BODY_BOUNDS.maxMessages, 1_000_000, "Messages of a request."),
    max_tools: bound(LEAST_BODY_BOUNDS.maxTools, 1_000_000, "Tools of a request."),
    max_items: bound(
      LEAST_BODY_BOUNDS.maxItems,
      1_000_000,
      "Items of any other list of a request, the parts of a message among them, and members of any object.",
    ),
    max_name_characters: bound(
      LEAST_BODY_BOUNDS.maxNameCharacters,
      65_536,
      "Characters of the name of a field, a model, a route and the like.",
    ),
    max_number_digits: bound(LEAST_BODY_BOUNDS.maxNumberDigits, 65_536, "Digits of a number."),
    body_timeout_s: seconds(60, 3600, "The body of a request has to be complete this long after its head."),
    max_concurrent_calls: z
      .int()
      .min(1)
      .max(MAX_CONCURRENT_CALLS)
      .default(10_000)
      .meta({ title: "Calls", description: "Calls under way at the same time; one more is answered 503." }),
    max_concurrent_calls_per_tenant: z.int().min(1).max(MAX_CONCURRENT_CALLS).optional().meta({
      title: "Calls of a tenant",
      description:
        "Calls of one tenant under way at the same time; one more is answered 503. Not set: four fifths of `max_concurrent_calls` where there are several tenants, so that no tenant takes the places of all others, and all of them where there is one.",
    }),
    max_answer_bytes: bytes(
      64 * MIB,
      1024,
      1024 * MIB,
      "Largest plain answer of a provider that is read, after decompression.",
    ),
    max_event_bytes: bytes(16 * MIB, 1024, 256 * MIB, "Longest single event of a provider's stream."),
    default_timeout_s: seconds(
      600,
      86_400,
      "Time for a whole call, retries included, when the request has no `timeout`.",
    ),
    connect_timeout_s: seconds(10, 600, "Time to connect to a provider."),
    first_byte_timeout_s: seconds(
      600,
      86_400,
      "Time from the request to a provider to the head of its answer. A model that reasons may be silent for minutes.",
    ),
    between_bytes_timeout_s: seconds(300, 86_400, "Longest silence inside a provider's answer."),
    head_hold_s: seconds(
      10,
      10,
      "A stream's head waits for the first content at most this long, so that an early failure still has its own status.",
    ),
    keep_alive_s: seconds(15, 60, "A comment goes out on a silent stream this often."),
    drain_s: seconds(
      30,
      3600,
      "When the gateway goes down, calls under way have this long to end; those that have not are cut with the error `shutting_down`.",
    ),
    trusted_proxies: z
      .array(z.string().refine(isIpRange, 'expected an address or a range such as "10.0.0.0/8" or "2001:db8::/32"'))
      .max(1000)
      .default([])
      .meta({
        title: "Trusted proxies",
        description:
          "Addresses and ranges of the proxies in front of the gateway. A call that comes from one of them is taken to come from the nearest address in `proxy_header` that is none of them; of all others the header is not looked at. Empty: the address of the connection counts.",
      }),
    proxy_header: z.enum(PROXY_HEADERS).default("x-forwarded-for").meta({
      title: "Header of the proxies",
      description:
        "The header to which every one of `trusted_proxies` appends the address that it was called from. Only this one is read: a proxy passes the other on as a stranger wrote it.",
    }),
    stale_snapshot: z.enum(STALE_SNAPSHOT).default("serve").meta({
      title: "Stale snapshot",
      description:
        "What to do when the database has not been reached for 60 s, so that revoked tokens may be unknown here: `serve` goes on with what is known, and says so in the log every minute; `refuse` answers new calls 503 `stale_snapshot` until the database is back.",
    }),
  })
  .transform((file) => ({
    host: file.host,
    port: file.port,
    data: file.data,
    databaseUrl: file.database_url ?? null,
    upstreamProxy: file.upstream_proxy ?? null,
    staleSnapshot: file.stale_snapshot,
    proxyTrust:
      file.trusted_proxies.length === 0
        ? null
        : { proxies: compileIpRanges(file.trusted_proxies), header: file.proxy_header },
    limits: {
      maxBodyBytes: file.max_body_bytes,
      body: {
        maxValues: file.max_body_values,
        maxLevels: file.max_body_levels,
        maxMessages: file.max_messages,
        maxTools: file.max_tools,
        maxItems: file.max_items,
        maxNameCharacters: file.max_name_characters,
        maxNumberDigits: file.max_number_digits,
      },
      bodyTimeoutMs: toMs(file.body_timeout_s),
      maxConcurrentCalls: file.max_concurrent_calls,
      maxConcurrentCallsPerTenant: file.max_concurrent_calls_per_tenant ?? null,
      maxAnswerBytes: file.max_answer_bytes,
      maxEventBytes: file.max_event_bytes,
      defaultTimeoutMs: toMs(file.default_timeout_s),
      connectTimeoutMs: toMs(file.connect_timeout_s),
      firstByteTimeoutMs: toMs(file.first_byte_timeout_s),
      betweenBytesTimeoutMs: toMs(file.between_bytes_timeout_s),
      headHoldMs: toMs(file.head_hold_s),
      keepAliveMs: toMs(file.keep_alive_s),
      drainMs: toMs(file.drain_s),
    } satisfies ServerLimits,
  }))
  .prefault({})
  .meta({
    title: "Server",
    description:
      "Where the gateway listens, and the bounds within which it works. `host`, `port`, `data`, `database_url` and `upstream_proxy` are read at the start; all others take effect when the file is saved.",
  });

export const logSection = z
  .strictObject({
    level: z.enum(LOG_LEVELS).default("info").meta({
      title: "Level",
      description: "Least important level that is logged. Read at the start.",
      variable: "DRAGOMAN_LOG_LEVEL",
    }),
  })
  .prefault({})
  .meta({ title: "Log", description: "The log, one JSON object a line." });

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
        description: 'Origins of web pages that may call the gateway from a browser; `"*"` for every one. Empty: none.',
      }),
  })
  .prefault({})
  .meta({ title: "CORS", description: "Calls from web pages of other origins." });

export const opsSection = z
  .strictObject({
    open: z.boolean().default(false).meta({
      title: "Open",
      description:
        "Let everybody who reaches the port read `/metrics` and `/readyz?verbose`. Otherwise they answer programs on this machine, operators, and tokens with the permission `ops` only.",
    }),
  })
  .prefault({})
  .meta({ title: "Operations", description: "The endpoints for monitoring." });

/** Ids of tenants and projects. */
export const SCOPE_ID = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;
