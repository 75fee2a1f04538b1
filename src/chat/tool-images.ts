// Images that tools gave, at a target: a model that takes images is shown them, any other is told of them in words. They are no content of the client's, so a request
// is never refused for them (decisions 6.4, 10.2).
import { effectiveCapability } from "../core/capability.ts";
import type { ChatRequest, ContentPart, Message } from "../core/chat.ts";
import type { Target } from "../core/target.ts";
import type { Provider } from "../providers/provider.ts";

const UNSEEN = "(this model is not shown images)";

export function withToolImages(request: ChatRequest, { capabilities }: Provider, target: Target): ChatRequest {
  const { toolImages, messages, blocks } = request;
  if (toolImages.size === 0) return request;
  if (effectiveCapability(capabilities, "image_url", target.model).support !== "unsupported") {
    const [first] = toolImages;
    return blocks.has("image_url") ? request : { ...request, blocks: new Map([...blocks, ["image_url", `messages[${first}].content`]]) };
  }
  return { ...request, messages: messages.map((message, index) => (toolImages.has(index) ? inWords(message) : message)) };
}

function inWords(message: Message): Message {
  const parts = message.content as readonly ContentPart[];
  return { ...message, content: parts.map((part) => (part.type === "text" ? (part["text"] as string) : UNSEEN)).join("\n") };
}
