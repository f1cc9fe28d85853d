import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Cleanup } from '../../../../test/support/service.ts'

/** Something on HTTP that is not the service. @returns its address */
export async function startImpostor(t: Cleanup, listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve))
  t.after(() => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  })
  return `http://localhost:${(server.address() as AddressInfo).port}`
}

/** One that answers every request alike. */
export function startParrot(
  t: Cleanup,
  status: number,
  headers: Record<string, string>,
  body: string,
): Promise<string> {
  return startImpostor(t, (request, response) => {
    request.resume().on('end', () => response.writeHead(status, headers).end(body))
  })
}

/** One that answers with JSON. */
export function startJsonParrot(t: Cleanup, body: unknown, status = 200): Promise<string> {
  return startParrot(t, status, { 'content-type': 'application/json' }, JSON.stringify(body))
}

/** The body of a request. */
export async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request) text += chunk
  return text
}
