/**
 * Server-sent events from the body of a response (EventSource only supports GET).
 * @module
 */

/**
 * @param {ReadableStream<Uint8Array>} body
 * @returns {AsyncGenerator<{event: string, data: any}>} data parsed from JSON
 */
export async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  const lines = new Lines();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield* lines.take(value);
    }
  } finally {
    reader.cancel().catch(() => {}); // the connection may already be closed
  }
}

/** Collects text until an event is complete; pieces are joined only once, because a result may have megabytes. */
class Lines {
  pieces = [];
  event = "message";
  data = [];

  *take(text) {
    const [first, ...rest] = text.split("\n");
    this.pieces.push(first);
    for (const next of rest) {
      const line = this.pieces.join("").replace(/\r$/u, "");
      this.pieces = [next];
      yield* this.line(line);
    }
  }

  *line(line) {
    if (line === "" && this.data.length) yield { event: this.event, data: JSON.parse(this.data.join("\n")) };
    if (line === "") [this.event, this.data] = ["message", []];
    else if (line.startsWith("event:")) this.event = line.slice(6).trim();
    else if (line.startsWith("data:")) this.data.push(line.slice(5).replace(/^ /u, ""));
  }
}
