// The names that indicate that their value is a secret. Some words indicate it in every kind of name, and each kind has
// further words. Headers have the most, because it does no harm to hide a header that holds no secret. Members of a body
// have fewer, because such members also count tokens, and hold keys of caches and signatures of reasoning.
const ANYWHERE = "secret|passw|cookie|credential";
const CREDENTIAL = `${ANYWHERE}|token|signature|authorization|api[-_]?key`;
const KEY = "(?:api|access|private|secret|auth|account|subscription|shared|signing)[-_]?key";

/** A name in the settings of a tool server. */
export const SECRET_SETTING = new RegExp(CREDENTIAL, "i");
/** A header of a client that may hold a secret, or does not identify the caller. */
export const SECRET_HEADER_OF_CLIENT = new RegExp(`${CREDENTIAL}|^x-(?:goog|amz)-`, "i");
/** A header that is shown. The chart for Kubernetes refuses the same ones in a ConfigMap. */
export const SECRET_HEADER = new RegExp(`${ANYWHERE}|token|signature|auth|key`, "i");
/** A member of a body. */
export const SECRET_MEMBER = new RegExp(`${ANYWHERE}|token$|authorization|${KEY}$`, "i");
/** A parameter in the query of an address, in which the first group is all but the value. The chart refuses the same ones. */
export const SECRET_QUERY = /([?&](?:[a-z_-]*(?:key|token|signature|secret)|sig|password|code)=)[^&#]*/gi;
