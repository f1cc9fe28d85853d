/** A line of the feed is a head, a JWS of at most a few hundred bytes, or a change. */
const MAX_LINE = 16_384

/**
 * The values of a stream of server-sent events or of newline-delimited JSON. Comments and other fields of events are left out.
 * @throws Error for a line that is too long or no JSON
 */
export async function* feedLines(body: ReadableStream<Uint8Array>): AsyncGenerator<unknown> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const reader = body.getReader()
  let text = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      text += decoder.decode(value, { stream: true })
      const lines = text.split('\n')
      text = lines.pop() ?? ''
      if (text.length > MAX_LINE) throw new Error('a line of the feed is too long')
      for (const line of lines) {
        const data = dataOf(line.trim())
        if (data !== null) yield JSON.parse(data)
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}

function dataOf(line: string): string | null {
  if (line.startsWith('{')) return line
  return line.startsWith('data:') ? line.slice('data:'.length) : null
}
