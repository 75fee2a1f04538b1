// Words of the protocol itself, as members and as values: whoever writes them chooses among them, and says nothing else. Guards do not look at them, so that a pattern
// such as `user` or `function` does not find the form in which every request comes. What is not here was chosen by the caller.

const MEMBERS = [
  "content", "refusal", "arguments", "function", "functions", "tool_calls", "tool_call_id", "function_call", "reasoning", "reasoning_content", "reasoning_details", "image_url", "input_audio", "video_url", "filename", "file_id", "file_data",
  "cache_control", "description", "parameters", "properties", "required", "additionalProperties", "patternProperties", "strict", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "minItems",
  "maxItems", "uniqueItems", "pattern", "format", "default", "examples", "definitions", "$schema", "json_schema", "schema", "response_format", "server_label", "server_url", "allowed_tools", "require_approval", "annotations",
  "extra_content", "signature", "thought_signature", "encrypted_content", "summary", "detail", "source", "media_type", "mime_type", "citations", "prefixItems", "dependentRequired", "propertyNames", "multipleOf", "nullable",
];
const VALUES = [
  "system", "developer", "user", "assistant", "tool", "function", "string", "number", "integer", "boolean", "object", "array", "null", "text", "image_url", "input_audio", "input_text", "input_image", "output_text", "video_url", "file",
  "document", "image", "audio", "video", "refusal", "thinking", "redacted_thinking", "reasoning.text", "reasoning.summary", "reasoning.encrypted", "mcp", "grammar", "json_object", "json_schema", "content", "auto", "none",
  "required", "any", "allowed_tools", "low", "medium", "high", "minimal", "xhigh", "max", "default", "flex", "scale", "priority", "fast", "standard", "base64", "url", "ephemeral", "always", "never", "approximate",
  "date", "time", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "uri", "uri-reference", "uuid", "regex", "json-pointer", "int32", "int64", "float", "double", "byte", "binary", "password", "wav", "mp3", "flac", "opus",
  "pcm16", "text/plain", "text/html", "text/csv", "text/markdown", "application/json", "application/pdf", "image/png", "image/jpeg", "image/gif",
  "image/webp", "http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/schema#",
];
const WORDS: ReadonlySet<string> = new Set([...MEMBERS, ...VALUES]);

export function isProtocolWord(text: string): boolean {
  return WORDS.has(text);
}
