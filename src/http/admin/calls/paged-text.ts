// A report as lines of text, page by page as the client reads, so that one of any length holds only one page in memory.
import type { Page, PageRequest } from "../../../store/reader.ts";
import type { Answer } from "../operation.ts";

/** Rows of a page. */
const PAGE = 1000;

export interface TextForm<Row> {
  readonly contentType: string;
  /** What stands before the first line. */
  readonly head: string;
  readonly linesOf: (rows: readonly Row[]) => string;
}

/**
 * The first page is read before the response begins, so that an invalid query still gets its error status. Throws what
 * `read` throws.
 */
export async function pagedText<Row, Read extends Page<Row>>(
  { cursor = null }: PageRequest,
  read: (page: PageRequest) => Promise<Read>,
  formOf: (first: Read) => TextForm<Row>,
): Promise<NonNullable<Answer["text"]>> {
  const encoder = new TextEncoder();
  const first = await read({ limit: PAGE, cursor });
  const { contentType, head, linesOf } = formOf(first);
  let page: Page<Row> | null = first;
  let text = head;
  const content = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        while (page !== null) {
          const { data, nextCursor }: Page<Row> = page;
          text += linesOf(data);
          // The lines made so far are sent before the next page is read.
          if (text !== "") controller.enqueue(encoder.encode(text));
          const isSent = text !== "";
          text = "";
          page = nextCursor === null ? null : await read({ limit: PAGE, cursor: nextCursor });
          if (isSent) return;
        }
        controller.close();
      },
    },
    { highWaterMark: 0 },
  );
  return { contentType, content, nextCursor: null };
}
