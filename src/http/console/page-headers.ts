// The headers of everything below /console: no script, style or connection from elsewhere, no frame around it, and no
// text that a script may turn into markup. https://www.w3.org/TR/CSP3/, https://www.w3.org/TR/trusted-types/

const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "font-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

/** Writing to the clipboard is left to the default, which is the page itself: secrets are copied with it. */
const DENIED = [
  "accelerometer",
  "autoplay",
  "camera",
  "clipboard-read",
  "display-capture",
  "geolocation",
  "gyroscope",
  "hid",
  "idle-detection",
  "magnetometer",
  "microphone",
  "midi",
  "payment",
  "publickey-credentials-create",
  "publickey-credentials-get",
  "screen-wake-lock",
  "serial",
  "usb",
  "xr-spatial-tracking",
];

const EVERYWHERE: Readonly<Record<string, string>> = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
};

export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  ...EVERYWHERE,
  "content-security-policy": CONTENT_SECURITY_POLICY,
  "cross-origin-opener-policy": "same-origin",
  "permissions-policy": DENIED.map((name) => `${name}=()`).join(", "),
};

/** What the console's own requests receive: nobody keeps it, and no page shows it. */
export const DATA_HEADERS: Readonly<Record<string, string>> = {
  ...EVERYWHERE,
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "cache-control": "no-store",
};
