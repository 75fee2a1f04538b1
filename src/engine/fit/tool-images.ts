// Adapts images from tool results to a target. A model that takes images gets them; any other gets only the line in the
// result that mentions them. The client did not send them, so a request never fails because of them (promises 6.4,
// 10.2).
import { withMembers } from "../../core/request/request-source.ts";
import { effectiveCapability } from "../../core/capability.ts";
import type { ChatRequest } from "../../core/chat.ts";
import type { Target } from "../../core/target.ts";
import { dialectOf } from "../../providers/dialect.ts";
import type { Provider } from "../../providers/provider.ts";

export function withToolImages(
  request: ChatRequest,
  provider: Provider,
  { model }: Pick<Target, "model">,
): ChatRequest {
  const { toolImages, messages, blocks, held } = request;
  if (toolImages.size === 0) return request;
  if (
    dialectOf(provider, model).assistantAfterTools === true ||
    effectiveCapability(provider.capabilities, "image_url", model).support === "unsupported"
  )
    // the thread that holds the conversation removes the images from it
    return held !== undefined
      ? request
      : withMembers(request, { messages: messages.filter((_message, index) => !toolImages.has(index)) });
  const [first] = toolImages;
  return blocks.has("image_url")
    ? request
    : { ...request, blocks: new Map([...blocks, ["image_url", `messages[${first}].content`]]) };
}
