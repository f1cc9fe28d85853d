import type { IncomingMessage, ServerResponse } from 'node:http'
import { CodedError, FEED_TYPE, InvalidTokenError } from '@countersign/protocol'
import type { MockIssuer } from './issuer.ts'

/** Between two heads, in milliseconds: as in a service. */
const HEAD_MS = 5000

/**
 * `GET /api/v1/feed`: heads only, since nothing changes. As server-sent events, the stream stays open until the client or the mock ends
 * it.
 * @throws CodedError VALIDATION_ERROR, CURSOR_EXPIRED
 */
export async function serveFeed(
  issuer: MockIssuer,
  { url = '', headers }: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const cursor = new URL(url, 'http://mock').searchParams.get('after') ?? '0'
  assertCursor(issuer, cursor)
  const isStream = headers.accept?.includes('text/event-stream') ?? false
  const head = await issuer.head()
  response.writeHead(200, {
    'content-type': isStream ? 'text/event-stream' : FEED_TYPE,
    'cache-control': 'no-store',
    'access-control-allow-origin': '*',
  })
  if (!isStream) {
    response.end(`${JSON.stringify({ head })}\n`)
    return
  }
  const write = (token: string) =>
    response.write(`id: ${token}\nevent: head\ndata: ${JSON.stringify({ head: token })}\n\n`)
  write(head)
  const timer = setInterval(() => void issuer.head().then(write), HEAD_MS)
  response.on('close', () => clearInterval(timer))
}

function assertCursor(issuer: MockIssuer, cursor: string): void {
  try {
    issuer.assertCursor(cursor)
  } catch (error) {
    if (!(error instanceof InvalidTokenError)) throw error
    throw new CodedError('VALIDATION_ERROR', 'after is 0, or a head of this feed.')
  }
}
